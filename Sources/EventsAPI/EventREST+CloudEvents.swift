import DocumentModel
import GoogleREST
import HTTPTypes
import NIOCore
import StrictJSON

/// CloudEvents 1.0 over HTTP in the binding's three modes, and in Eventarc's format.
extension EventREST {
    private static let structured = "application/cloudevents+json"
    private static let batched = "application/cloudevents-batch+json"

    func publish(
        _ headers: HTTPFields, _ body: ByteBuffer, _ auth: EventAuth
    ) async throws(DocumentError) -> JSONWriter {
        let mediaType = headers[.contentType].map(MediaType.essence)
        let events: [CloudEvent]
        switch mediaType {
        case Self.structured?:
            events = [try reading(body) { (root, text) throws(JSONProblem) in try CloudEventReader(text).event(root) }]
        case Self.batched?:
            events = try reading(body) { (root, text) throws(JSONProblem) in
                var events: [CloudEvent] = []
                for element in try root.elements() { events.append(try CloudEventReader(text).event(element)) }
                return events
            }
        case let type? where type.hasPrefix("application/cloudevents"):
            throw .invalidArgument("send events as \(Self.structured) or \(Self.batched); \(type) isn't supported")
        default: events = [try CloudEventHeaders(headers).event(Array(body.readableBytesView))]
        }
        return try await publish(events, auth)
    }

    /// Serves Eventarc's `channels/C:publishEvents`. The channel is ignored: events are routed to functions by type.
    func publishEvents(_ body: ByteBuffer, _ auth: EventAuth) async throws(DocumentError) -> JSONWriter {
        let events = try RESTBody(body).read { (root) throws(JSONProblem) in
            var events: [CloudEvent] = []
            for member in try root.members() {
                switch member.key {
                case "events":
                    for element in try member.value.elements() { events.append(try EventarcReader.event(element)) }
                case "textEvents":
                    for element in try member.value.elements() {
                        events.append(try CloudEventReader.event(inText: element))
                    }
                default: throw member.unknown
                }
            }
            return events
        }
        return try await publish(events, auth)
    }

    private func publish(_ events: [CloudEvent], _ auth: EventAuth) async throws(DocumentError) -> JSONWriter {
        if !events.isEmpty { _ = try await commit(events.map { .publish($0) }, auth) }
        return .emptyObject
    }

    private func reading<Message>(
        _ body: ByteBuffer, _ read: (JSONNode, [UInt8]) throws(JSONProblem) -> Message
    ) throws(DocumentError) -> Message {
        let text = Array(body.readableBytesView)
        return try RESTBody(body).read { (root) throws(JSONProblem) in try read(root, text) }
    }
}

enum MediaType {
    /// Returns `text/html` for `Text/HTML; charset=utf-8`.
    static func essence(_ contentType: String) -> String {
        (contentType.split(separator: ";").first ?? "").filter { $0 != " " }.lowercased()
    }

    static func isJSON(_ contentType: String) -> Bool {
        let essence = essence(contentType)
        return essence == "application/json" || essence == "text/json" || essence.hasSuffix("+json")
    }
}
