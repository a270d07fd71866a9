import DocumentModel
import FirestoreJSON
import StrictJSON
import TextFormats

/// Reads events in the JSON of CloudEvents' protobuf format, which Eventarc's publishing API uses.
enum EventarcReader {
    private static let type = "type.googleapis.com/io.cloudevents.v1.CloudEvent"

    static func event(_ node: JSONNode) throws(JSONProblem) -> CloudEvent {
        var attributes = CloudEventAttributes()
        var data: [UInt8]?
        for member in try node.members() {
            switch member.key {
            case "@type":
                guard try member.value.string() == type else {
                    throw member.value.problem("\(member.value.summary) is not the type of an event; write \(type)")
                }
            case "id", "source", "type": try set(member.key, try member.value.string(), member.value, &attributes)
            case "specVersion", "spec_version":
                try set("specversion", try member.value.string(), member.value, &attributes)
            case "attributes":
                for attribute in try member.value.members() {
                    try set(attribute.key, try value(attribute.value), attribute.value, &attributes)
                }
            case "textData", "text_data", "binaryData", "binary_data":
                guard data == nil else {
                    throw JSONProblem(
                        offset: member.offset, message: "an event has only one data field; this is the second")
                }
                data = member.key.hasPrefix("text") ? Array(try member.value.string().utf8) : try member.value.bytes()
            case "protoData", "proto_data":
                throw member.value.problem("protoData isn't supported; use textData or binaryData")
            default: throw member.unknown
            }
        }
        switch attributes.event(data ?? []) {
        case .success(let event): return event
        case .failure(let problem): throw node.problem(problem.message)
        }
    }

    private static func set(
        _ name: String, _ value: String, _ node: JSONNode, _ attributes: inout CloudEventAttributes
    ) throws(JSONProblem) {
        if let problem = attributes.set(name, value) { throw node.problem(problem) }
    }

    /// Reads the value of an attribute of any type as text.
    private static func value(_ node: JSONNode) throws(JSONProblem) -> String {
        let members = try node.members()
        guard let member = members.first, members.count == 1 else {
            throw node.problem("an attribute needs exactly one value, such as {\"ceString\":…}")
        }
        switch member.key {
        case "ceString", "ceUri", "ceUriRef", "ceTimestamp": return try member.value.string()
        case "ceBoolean": return "\(try member.value.boolean())"
        case "ceInteger": return "\(try member.value.integer())"
        case "ceBytes": return Base64.encode(try member.value.bytes())
        default: throw member.unknown
        }
    }
}
