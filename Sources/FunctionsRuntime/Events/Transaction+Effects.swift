public import DocumentModel

// Effects of the commit. No read can observe them, so reads may follow.
extension Transaction {
    /// Enqueues a task with the commit.
    ///
    /// - Parameters:
    ///   - data: The data for the function, at most 1 MiB as JSON.
    ///   - queue: The name of the function that handles the tasks.
    ///   - options: Its name, time and limits.
    /// - Throws: `DocumentError` with `invalidArgument` if an option is invalid, `failedPrecondition` in a read-only
    ///   transaction; `EncodingError` if the data can't be encoded as JSON. The commit fails with `notFound` if there
    ///   is no such queue, and with `alreadyExists` if the name is taken; nothing is written then.
    public func enqueue(_ data: some Encodable, to queue: String, options: TaskOptions = TaskOptions()) throws {
        try buffer(.enqueue(try options.draft(of: data, for: queue, at: firestore.transport.now)))
    }

    /// Deletes a task with the commit, like ``TaskQueue/delete(_:)``.
    ///
    /// - Parameters:
    ///   - id: The task's name.
    ///   - queue: The name of the function that handles the tasks.
    /// - Throws: `invalidArgument` if the name is invalid, `failedPrecondition` in a read-only transaction. The commit
    ///   fails with `notFound` if there is no such queue; a task that doesn't exist isn't an error.
    public func deleteTask(_ id: String, from queue: String) throws(DocumentError) {
        try DocumentLimits.check(taskName: id)
        try buffer(.deleteTask(id, queue: queue))
    }

    /// Publishes an event with the commit.
    ///
    /// - Throws: `invalidArgument` if the event is invalid, `failedPrecondition` in a read-only transaction.
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
            data: try CallableEncoder(root: "message", wrapsIntegers: false).encode(value), to: topic,
            attributes: attributes, orderingKey: orderingKey)
    }

    /// Publishes a message with any bytes to a topic with the commit.
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
