public import DocumentModel

/// Publishes events to functions declared with `onCustomEventPublished`, and to other consumers.
public struct EventChannel: Sendable {
    private let firestore: Firestore

    init(firestore: Firestore) { self.firestore = firestore }

    /// Publishes events, all or none. They are durable when this returns. An event that matches no function is
    /// discarded.
    ///
    /// In a transactional function use ``Transaction/publish(_:)``: the event is then published if and only if the
    /// transaction commits.
    ///
    /// - Throws: `invalidArgument` if an event is invalid: it lacks a type or a source, has an invalid attribute name,
    ///   or its data exceeds 1 MiB.
    public func publish(_ events: CloudEvent...) async throws(DocumentError) { try await publish(events) }

    /// Publishes events, all or none.
    public func publish(_ events: [CloudEvent]) async throws(DocumentError) {
        guard !events.isEmpty else { return }
        for event in events { _ = try DocumentLimits.check(event) }
        _ = try await firestore.transport.commit([], effects: events.map { .publish($0) })
    }
}

/// A topic, identified by its name. It needn't be created.
public struct Topic: Sendable {
    public let name: String
    private let firestore: Firestore

    init(name: String, firestore: Firestore) {
        self.name = name
        self.firestore = firestore
    }

    /// Publishes a value as JSON. Integers are numbers whatever their size.
    ///
    /// - Returns: The message's id.
    /// - Throws: `invalidArgument` if the topic's name is invalid or the message is too large; `EncodingError` if the
    ///   value can't be encoded as JSON.
    @discardableResult
    public func publish(
        json value: some Encodable, attributes: [String: String] = [:], orderingKey: String? = nil
    ) async throws -> String {
        try await publish(
            data: try CallableEncoder(root: "message", wrapsIntegers: false).encode(value), attributes: attributes,
            orderingKey: orderingKey)
    }

    /// Publishes a message with any bytes.
    @discardableResult
    public func publish(
        data: [UInt8], attributes: [String: String] = [:], orderingKey: String? = nil
    ) async throws(DocumentError) -> String {
        let transport = firestore.transport
        let message = PubSubMessage(
            data: data, attributes: attributes, orderingKey: orderingKey, at: transport.now)
        try await EventChannel(firestore: firestore).publish(
            try message.event(topic: name, project: transport.database.project))
        return message.messageID
    }
}

extension PubSubMessage {
    /// A new message with a generated id.
    init(data: [UInt8], attributes: [String: String], orderingKey: String?, at time: Timestamp) {
        self.init(
            data: data, attributes: attributes, orderingKey: orderingKey, messageID: Self.makeID(), publishTime: time)
    }
}
