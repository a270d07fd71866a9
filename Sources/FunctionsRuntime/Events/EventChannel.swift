public import DocumentModel

/// Where events are published, for the functions made by `onCustomEventPublished` and whoever else listens.
public struct EventChannel: Sendable {
    private let firestore: Firestore

    init(firestore: Firestore) { self.firestore = firestore }

    /// Publishes events, all of them or none. They are there for good when this returns; an event that no function is for
    /// is none.
    ///
    /// Within a transactional function use ``Transaction/publish(_:)``: the event then happens if and only if the
    /// transaction commits.
    ///
    /// - Throws: `invalidArgument` where an event is impossible: it lacks a type or a source, an attribute can't be called
    ///   so, or its data has more than 1 MiB.
    public func publish(_ events: CloudEvent...) async throws(DocumentError) { try await publish(events) }

    /// Publishes events, all of them or none.
    public func publish(_ events: [CloudEvent]) async throws(DocumentError) {
        guard !events.isEmpty else { return }
        for event in events { _ = try DocumentLimits.check(event) }
        _ = try await firestore.transport.commit([], effects: events.map { .publish($0) })
    }
}

/// A topic, by its name. It needs not be made before.
public struct Topic: Sendable {
    public let name: String
    private let firestore: Firestore

    init(name: String, firestore: Firestore) {
        self.name = name
        self.firestore = firestore
    }

    /// Publishes a value as JSON.
    ///
    /// - Returns: the message's id.
    /// - Throws: `invalidArgument` where no topic can be called so, or the message is too large; `EncodingError` where the
    ///   value can't be written as JSON.
    @discardableResult
    public func publish(
        json value: some Encodable, attributes: [String: String] = [:], orderingKey: String? = nil
    ) async throws -> String {
        try await publish(
            data: try CallableEncoder(root: "message").encode(value), attributes: attributes, orderingKey: orderingKey)
    }

    /// Publishes a message of any bytes.
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
    /// A new message with an id of its own.
    init(data: [UInt8], attributes: [String: String], orderingKey: String?, at time: Timestamp) {
        self.init(
            data: data, attributes: attributes, orderingKey: orderingKey, messageID: Self.makeID(), publishTime: time)
    }
}
