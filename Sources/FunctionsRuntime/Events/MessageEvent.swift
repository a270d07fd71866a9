public import DocumentModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A message on a topic, as a function receives it.
public struct MessageEvent: FunctionInput {
    public let data: MessagePublishedData
    private let event: CustomEvent<[UInt8]>

    /// - Throws: `DecodingError` if the event's data isn't a message.
    init(_ received: ReceivedEvent) throws {
        event = try CustomEvent(received) { event, _ in event.data }
        let published = try event.cloudEvent.json(as: PublishedMessage.self)
        let message = PubSubMessage(
            data: published.message.data.map { Array($0) } ?? [], attributes: published.message.attributes ?? [:],
            orderingKey: published.message.orderingKey, messageID: published.message.messageId ?? event.id,
            publishTime: published.message.publishTime ?? event.time)
        data = MessagePublishedData(message: message, subscription: published.subscription ?? "")
    }

    public var context: FunctionContext { event.context }

    /// The message's id, the same for all attempts. The publisher chooses it; ``deliveryID`` is unique.
    public var id: String { event.id }
    /// The same for all attempts, and unique for the function. Later events have greater ids.
    public var deliveryID: String { event.deliveryID }
    public var time: Timestamp { event.time }
    /// `//pubsub.googleapis.com/projects/P/topics/T`
    public var source: String { event.source }
    /// `google.cloud.pubsub.topic.v1.messagePublished`
    public var type: String { event.type }
    public var topic: String { event.attributes[PubSubMessage.topicAttribute] ?? "" }
    /// Who published it.
    public var auth: EventAuth { event.auth }
    /// The number of this attempt, starting with 1.
    public var attempt: Int { event.attempt }
}

/// The data of a topic's event.
public struct MessagePublishedData: Sendable {
    public let message: PubSubMessage
    /// `projects/P/subscriptions/S`
    public let subscription: String
}

/// The event's data in Pub/Sub's JSON format.
private struct PublishedMessage: Decodable {
    var message: Message
    var subscription: String?

    struct Message: Decodable {
        var data: Data?
        var attributes: [String: String]?
        var messageId: String?
        var publishTime: Timestamp?
        var orderingKey: String?
    }
}

extension PubSubMessage {
    /// Decodes the data from JSON.
    ///
    /// - Throws: `DecodingError`, with the path to the error.
    public func json<Payload: Decodable>(as type: Payload.Type = Payload.self) throws -> Payload {
        try CallableDecoder(root: "message").decode(type, from: data)
    }

    /// The data as a UTF-8 string; nil if it isn't one.
    public var text: String? { String(validating: data, as: UTF8.self) }
}
