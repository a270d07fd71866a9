import DocumentModel
import FirestoreJSON
import GoogleREST
import HostJSON
import NIOCore

/// Pub/Sub's `topics/T:publish`: each message becomes an event for the functions of the topic.
extension EventREST {
    private static let maxMessages = 1000

    func publishMessages(
        _ topic: String, _ body: ByteBuffer, _ auth: EventAuth
    ) async throws(DocumentError) -> JSONText {
        let time = now()
        let messages = try RESTBody(body).read { (root) throws(JSONProblem) in
            var messages: [PubSubMessage] = []
            for member in try root.members() {
                guard member.key == "messages" else { throw member.unknown }
                for element in try member.value.elements() { messages.append(try element.message(at: time)) }
            }
            guard (1...Self.maxMessages).contains(messages.count) else {
                throw root.problem("a request has 1 … \(Self.maxMessages) messages; this has \(messages.count)")
            }
            return messages
        }
        var effects: [Effect] = []
        for message in messages { effects.append(.publish(try message.event(topic: topic, project: project))) }
        _ = try await commit(effects, auth)
        var text = JSONText()
        text.raw("{\"messageIds\":")
        text.array(messages) { $0.string($1.messageID) }
        text.raw("}")
        return text
    }
}

extension JSONNode {
    // Pub/Sub's own limits.
    private static let maxAttributes = 100
    private static let maxKeyBytes = 256
    private static let maxValueBytes = 1024

    /// A message as its publisher sends it.
    fileprivate func message(at time: Timestamp) throws(JSONProblem) -> PubSubMessage {
        var message = PubSubMessage(data: [], messageID: PubSubMessage.makeID(), publishTime: time)
        for member in try members() {
            switch member.key {
            case "data": message.data = try member.value.bytes()
            case "attributes": message.attributes = try member.value.messageAttributes()
            case "orderingKey":
                let key = try member.value.string()
                if !key.isEmpty { message.orderingKey = key }
            // The server's to set; who sends on what was received says them.
            case "messageId", "publishTime": _ = try member.value.string()
            default: throw member.unknown
            }
        }
        guard !message.data.isEmpty || !message.attributes.isEmpty else {
            throw problem("a message needs data or an attribute")
        }
        return message
    }

    private func messageAttributes() throws(JSONProblem) -> [String: String] {
        var attributes: [String: String] = [:]
        for attribute in try members() {
            guard (1...Self.maxKeyBytes).contains(attribute.key.utf8.count) else {
                throw JSONProblem(
                    offset: attribute.offset, message: "an attribute's name has 1 … \(Self.maxKeyBytes) bytes")
            }
            let value = try attribute.value.string()
            guard value.utf8.count <= Self.maxValueBytes else {
                throw attribute.value.problem("an attribute has \(Self.maxValueBytes) bytes at most")
            }
            attributes[attribute.key] = value
        }
        guard attributes.count <= Self.maxAttributes else {
            throw problem("a message has \(Self.maxAttributes) attributes at most")
        }
        return attributes
    }
}
