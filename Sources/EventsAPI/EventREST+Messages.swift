import DocumentModel
import FirestoreJSON
import GoogleREST
import NIOCore
import StrictJSON

/// Pub/Sub's `topics/T:publish`: each message becomes an event for the functions that subscribe to the topic.
extension EventREST {
    private static let maxMessages = 1000

    func publishMessages(
        _ topic: String, _ body: ByteBuffer, _ auth: EventAuth
    ) async throws(DocumentError) -> JSONWriter {
        let time = now()
        let messages = try RESTBody(body).read { (root) throws(JSONProblem) in
            var messages: [PubSubMessage] = []
            for member in try root.members() {
                guard member.key == "messages" else { throw member.unknown }
                for element in try member.value.elements() { messages.append(try element.message(at: time)) }
            }
            guard (1...Self.maxMessages).contains(messages.count) else {
                throw root.problem("a request needs 1 … \(Self.maxMessages) messages; this one has \(messages.count)")
            }
            return messages
        }
        var effects: [Effect] = []
        for message in messages { effects.append(.publish(try message.event(topic: topic, project: project))) }
        _ = try await commit(effects, auth)
        var text = JSONWriter()
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

    /// Reads a message in the format of a publish request.
    fileprivate func message(at time: Timestamp) throws(JSONProblem) -> PubSubMessage {
        var message = PubSubMessage(data: [], messageID: PubSubMessage.makeID(), publishTime: time)
        for member in try members() {
            switch member.key {
            case "data": message.data = try member.value.bytes()
            case "attributes": message.attributes = try member.value.messageAttributes()
            case "orderingKey":
                let key = try member.value.string()
                if !key.isEmpty { message.orderingKey = key }
            // Set by the server. Clients that forward a received message send them.
            case "messageId", "publishTime": _ = try member.value.string()
            default: throw member.unknown
            }
        }
        guard !message.data.isEmpty || !message.attributes.isEmpty else {
            throw problem("a message needs data or at least one attribute")
        }
        return message
    }

    private func messageAttributes() throws(JSONProblem) -> [String: String] {
        var attributes: [String: String] = [:]
        for attribute in try members() {
            guard (1...Self.maxKeyBytes).contains(attribute.key.utf8.count) else {
                throw JSONProblem(
                    offset: attribute.offset, message: "an attribute name must have 1 … \(Self.maxKeyBytes) bytes")
            }
            let value = try attribute.value.string()
            guard value.utf8.count <= Self.maxValueBytes else {
                throw attribute.value.problem("an attribute value must have at most \(Self.maxValueBytes) bytes")
            }
            attributes[attribute.key] = value
        }
        guard attributes.count <= Self.maxAttributes else {
            throw problem("a message must have at most \(Self.maxAttributes) attributes")
        }
        return attributes
    }
}
