public import DocumentModel

// What happens if and only if the transaction commits. It can't be read, so reads may follow it.
extension Transaction {
    /// Puts a task into a queue with the commit.
    ///
    /// - Parameters:
    ///   - data: what the function gets as its data; at most 1 MiB as JSON.
    ///   - queue: the name of the function that takes the tasks.
    /// - Throws: ``DocumentError`` with `invalidArgument` where an option is impossible, `failedPrecondition` in a
    ///   read-only transaction; `EncodingError` where the data can't be written as JSON. The commit fails with `notFound`
    ///   where there is no such queue, with `alreadyExists` where the name is taken, and then nothing is written.
    public func enqueue(_ data: some Encodable, to queue: String, options: TaskOptions = TaskOptions()) throws {
        try buffer(.enqueue(try options.draft(of: data, for: queue, at: firestore.transport.now)))
    }

    /// Takes a task back with the commit, as ``TaskQueue/delete(_:)`` does.
    ///
    /// - Parameters:
    ///   - id: the task's name.
    ///   - queue: the name of the function that takes the tasks.
    /// - Throws: `invalidArgument` where no task can be called so, `failedPrecondition` in a read-only transaction. The
    ///   commit fails with `notFound` where there is no such queue; a task that isn't there is no error.
    public func deleteTask(_ id: String, from queue: String) throws(DocumentError) {
        try DocumentLimits.check(taskName: id)
        try buffer(.deleteTask(id, queue: queue))
    }

    /// Publishes an event with the commit.
    ///
    /// - Throws: `invalidArgument` where the event is impossible, `failedPrecondition` in a read-only transaction.
    public func publish(_ event: CloudEvent) throws(DocumentError) {
        _ = try DocumentLimits.check(event)
        try buffer(.publish(event))
    }

    /// Publishes a value as JSON to a topic with the commit.
    ///
    /// - Returns: the message's id.
    @discardableResult
    public func publish(
        json value: some Encodable, to topic: String, attributes: [String: String] = [:], orderingKey: String? = nil
    ) throws -> String {
        try publish(
            data: try CallableEncoder(root: "message").encode(value), to: topic, attributes: attributes,
            orderingKey: orderingKey)
    }

    /// Publishes a message of any bytes to a topic with the commit.
    ///
    /// - Returns: the message's id.
    @discardableResult
    public func publish(
        data: [UInt8], to topic: String, attributes: [String: String] = [:], orderingKey: String? = nil
    ) throws(DocumentError) -> String {
        let transport = firestore.transport
        let message = PubSubMessage(data: data, attributes: attributes, orderingKey: orderingKey, at: transport.now)
        try publish(try message.event(topic: topic, project: transport.database.project))
        return message.messageID
    }
}
