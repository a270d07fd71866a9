import StrictJSON
import TextFormats

/// A message on a topic.
///
/// It is delivered as an event of type `google.cloud.pubsub.topic.v1.messagePublished`, with Pub/Sub's JSON as data.
public struct PubSubMessage: Hashable, Sendable {
    public var data: [UInt8]
    public var attributes: [String: String]
    /// The publisher's ordering key. It is passed on, but doesn't affect the order of delivery.
    public var orderingKey: String?
    /// Assigned when the message is published.
    public var messageID: String
    public var publishTime: Timestamp

    package init(
        data: [UInt8], attributes: [String: String] = [:], orderingKey: String? = nil, messageID: String,
        publishTime: Timestamp
    ) {
        self.data = data
        self.attributes = attributes
        self.orderingKey = orderingKey
        self.messageID = messageID
        self.publishTime = publishTime
    }
}

extension PubSubMessage {
    package static let eventType = "google.cloud.pubsub.topic.v1.messagePublished"
    /// The event attribute that selects a topic.
    package static let topicAttribute = "topic"

    /// Generates a message id: digits, like Pub/Sub's.
    package static func makeID() -> String { String(UInt64.random(in: 1_000_000_000_000_000...9_999_999_999_999_999)) }

    /// The event that delivers the message.
    ///
    /// - Throws: `invalidArgument` if the topic's name is invalid or the message is empty.
    package func event(topic: String, project: String) throws(DocumentError) -> CloudEvent {
        guard Self.isTopicName(topic) else {
            throw .invalidArgument(
                "\"\(topic)\" isn't a valid topic name: it starts with a letter and has 3 to 255 letters, digits and -._~+%, and "
                    + "doesn't start with goog")
        }
        guard !data.isEmpty || !attributes.isEmpty else {
            throw .invalidArgument("a message has neither data nor attributes")
        }
        return CloudEvent(
            type: Self.eventType, source: "//pubsub.googleapis.com/projects/\(project)/topics/\(topic)",
            id: messageID, time: publishTime, dataContentType: "application/json",
            attributes: [Self.topicAttribute: topic],
            data: json(subscription: "projects/\(project)/subscriptions/\(topic)"))
    }

    package static func isTopicName(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first), (3...255).contains(name.utf8.count) else { return false }
        return !name.hasPrefix("goog")
            && name.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || "-._~+%".utf8.contains($0) }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }

    /// `{"message":{…},"subscription":…}`
    private func json(subscription: String) -> [UInt8] {
        var text = JSONWriter()
        text.raw("{\"message\":{\"attributes\":{")
        text.list(attributes.sorted { $0.key < $1.key }) { text, pair in
            text.key(pair.key)
            text.string(pair.value)
        }
        text.raw("},\"data\":")
        text.string(Base64.encode(data))
        text.raw(",\"messageId\":")
        text.string(messageID)
        if let orderingKey {
            text.raw(",\"orderingKey\":")
            text.string(orderingKey)
        }
        text.raw(",\"publishTime\":")
        text.string(publishTime.rfc3339)
        text.raw("},\"subscription\":")
        text.string(subscription)
        text.raw("}")
        return text.bytes
    }
}
