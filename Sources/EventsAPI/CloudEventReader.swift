import DocumentModel
import FirestoreJSON
import StrictJSON

/// Reads events in CloudEvents' JSON format.
struct CloudEventReader {
    /// The text that the nodes were parsed from. An event's data are stored exactly as they are written there.
    private let text: [UInt8]

    init(_ text: [UInt8]) { self.text = text }

    /// Reads an event from a JSON string that contains the event's JSON.
    static func event(inText node: JSONNode) throws(JSONProblem) -> CloudEvent {
        let text = Array(try node.string().utf8)
        do {
            return try CloudEventReader(text).event(try JSONNode(parsing: text))
        } catch {
            throw node.problem("the text is not an event: \(error.message)")
        }
    }

    func event(_ node: JSONNode) throws(JSONProblem) -> CloudEvent {
        var attributes = CloudEventAttributes()
        var data: JSONNode?
        var binary: JSONNode?
        for member in try node.members() {
            switch member.key {
            case "data": data = member.value
            case "data_base64": binary = member.value
            default:
                let text: String
                switch member.value.kind {
                case .string(let string): text = string
                case .boolean(let flag): text = "\(flag)"
                case .integer(let number): text = "\(number)"
                default:
                    throw member.value.problem(
                        "\(member.value.summary) is not an attribute value; write a string, an integer, true or false")
                }
                if let problem = attributes.set(member.key, text) {
                    throw JSONProblem(offset: member.value.offset, message: problem)
                }
            }
        }
        if data != nil, let binary { throw binary.problem("data and data_base64 exclude each other") }
        var bytes: [UInt8] = []
        if let binary { bytes = try binary.bytes() }
        if let data {
            if case .string(let string) = data.kind, let type = attributes.dataContentType, !MediaType.isJSON(type) {
                bytes = Array(string.utf8)
            } else {
                bytes = Array(data.text(in: text))
                attributes.dataContentType = attributes.dataContentType ?? "application/json"
            }
        }
        switch attributes.event(bytes) {
        case .success(let event): return event
        case .failure(let problem): throw node.problem(problem.message)
        }
    }
}

/// The attributes of an event that is being read.
struct CloudEventAttributes {
    struct Problem: Error { var message: String }

    private var known: [String: String] = [:]
    private var extensions: [String: String] = [:]
    private var time: Timestamp?
    var dataContentType: String?

    private static let maxValueBytes = 16 * 1024

    /// - Returns: nil, or why the attribute is invalid.
    mutating func set(_ name: String, _ value: String) -> String? {
        guard CloudEvent.isAttributeName(name) else {
            return "\"\(name)\" is not an attribute name; names have lower-case letters and digits only"
        }
        guard value.utf8.count <= Self.maxValueBytes else {
            return "the attribute \(name) has more than \(Self.maxValueBytes) bytes"
        }
        switch name {
        case "specversion":
            guard value == "1.0" else { return "the specversion \"\(value)\" isn't supported; send 1.0" }
            known[name] = value
        case "id", "source", "type", "subject", "dataschema":
            guard !value.isEmpty else { return "the attribute \(name) must not be empty" }
            known[name] = value
        case "datacontenttype": dataContentType = value
        case "time":
            guard let read = Timestamp(rfc3339: value) else {
                return "\"\(value)\" is not an RFC 3339 timestamp, such as 2026-01-02T03:04:05Z"
            }
            time = read.truncatedToMicroseconds
        default: extensions[name] = value
        }
        return nil
    }

    func event(_ data: [UInt8]) -> Result<CloudEvent, Problem> {
        for name in ["specversion", "id", "source", "type"] where known[name] == nil {
            return .failure(Problem(message: "an event needs its \(name)"))
        }
        return .success(
            CloudEvent(
                type: known["type"] ?? "", source: known["source"] ?? "", id: known["id"], subject: known["subject"],
                time: time, dataContentType: dataContentType, dataSchema: known["dataschema"], attributes: extensions,
                data: data))
    }
}
