public import DocumentModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A message of a topic, as a function is told of it.
public struct MessageEvent: FunctionInput {
    public let data: MessagePublishedData
    private let event: CustomEvent<[UInt8]>

    /// - Throws: `DecodingError` where the event's data is no message.
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

    /// The message's id, the same over all tries. A publisher chooses it; ``deliveryID`` is unique.
    public var id: String { event.id }
    /// The same over all tries, and unique for the function. Later events have greater ones.
    public var deliveryID: String { event.deliveryID }
    public var time: Timestamp { event.time }
    /// `//pubsub.googleapis.com/projects/P/topics/T`
    public var source: String { event.source }
    /// `google.cloud.pubsub.topic.v1.messagePublished`
    public var type: String { event.type }
    public var topic: String { event.attributes[PubSubMessage.topicAttribute] ?? "" }
    /// Who published it.
    public var auth: EventAuth { event.auth }
    /// Which try this is: 1 the first time.
    public var attempt: Int { event.attempt }
}

/// What an event of a topic tells.
public struct MessagePublishedData: Sendable {
    public let message: PubSubMessage
    /// `projects/P/subscriptions/S`
    public let subscription: String
}

/// The data of the event, as Pub/Sub writes it.
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
    /// The data read as JSON.
    ///
    /// - Throws: `DecodingError`, with the path to what is wrong.
    public func json<Payload: Decodable>(as type: Payload.Type = Payload.self) throws -> Payload {
        try CallableDecoder(root: "message").decode(type, from: data)
    }

    /// The data as a text in UTF-8; nil where it is none.
    public var text: String? { String(validating: data, as: UTF8.self) }
}
