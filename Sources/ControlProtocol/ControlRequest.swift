import TextFormats

/// A command's request to the running host: a topic, a verb and parameters, such as `deliveries/list?state=dead`.
package struct ControlRequest: Hashable, Sendable {
    /// The first segment of each path. It lets a host and a command of incompatible versions detect each other.
    package static let version = "v1"

    package var topic: String
    package var verb: String
    private var parameters: [Parameter] = []

    private struct Parameter: Hashable, Sendable {
        var name: String
        var value: String
    }

    package init(_ topic: String, _ verb: String) {
        self.topic = topic
        self.verb = verb
    }

    /// Adds a parameter. The same name can be added several times; nil adds nothing.
    package mutating func add(_ name: String, _ value: String?) {
        if let value { parameters.append(Parameter(name: name, value: value)) }
    }

    /// The path below the version, with its query.
    var path: String { "\(topic)/\(verb)" + (parameters.isEmpty ? "" : "?\(query)") }

    /// The parameters as a request's body, which has room for whole files.
    var body: [UInt8] { Array(query.utf8) }

    private var query: String {
        parameters.map { "\($0.name)=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
    }
}
