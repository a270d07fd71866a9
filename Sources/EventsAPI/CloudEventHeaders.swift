import DocumentModel
import TextFormats
import HTTPTypes

/// Reads an event in CloudEvents' binary mode: headers that begin with `ce-` are its attributes, the body is its data.
struct CloudEventHeaders {
    private let headers: HTTPFields

    init(_ headers: HTTPFields) { self.headers = headers }

    /// - Throws: `invalidArgument` that names the header.
    func event(_ data: [UInt8]) throws(DocumentError) -> CloudEvent {
        var attributes = CloudEventAttributes()
        var names: Set<String> = []
        for field in headers {
            let header = field.name.canonicalName
            guard header.hasPrefix("ce-") else { continue }
            let name = String(header.dropFirst(3))
            guard names.insert(name).inserted else { throw .invalidArgument("\(header): the header is given twice") }
            guard name != "datacontenttype" else {
                throw .invalidArgument("\(header): give the data's media type in the header Content-Type")
            }
            guard let value = PercentEncoding.decoded(Self.unquoted(field.value)) else {
                throw .invalidArgument("\(header): the value isn't valid percent-encoding")
            }
            if let problem = attributes.set(name, value) { throw .invalidArgument("\(header): \(problem)") }
        }
        guard !names.isEmpty else {
            throw .invalidArgument(
                "the request is not an event: it has neither headers such as ce-type nor the Content-Type "
                    + "application/cloudevents+json")
        }
        attributes.dataContentType = headers[.contentType]
        switch attributes.event(data) {
        case .success(let event): return event
        case .failure(let problem): throw .invalidArgument(problem.message + " (in the headers ce-…)")
        }
    }

    /// Removes a value's quotes, within which a backslash escapes the next character.
    private static func unquoted(_ value: String) -> String {
        guard value.hasPrefix("\""), value.hasSuffix("\""), value.utf8.count >= 2 else { return value }
        var text = ""
        var isEscaped = false
        for character in value.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                text.append(character)
                isEscaped = false
            }
        }
        return text
    }
}
