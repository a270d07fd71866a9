import TextFormats

/// What a command asks the running host: a verb of a topic, with parameters.
package struct ControlRequest: Hashable, Sendable {
    /// The first part of each path, so that a host and a command of versions that don't understand each other say so.
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

    /// Adds a parameter. One name may come more than once; nil adds nothing.
    package mutating func add(_ name: String, _ value: String?) {
        if let value { parameters.append(Parameter(name: name, value: value)) }
    }

    /// The path below the version, with its query.
    var path: String {
        let query = parameters.map { "\($0.name)=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
        return "\(topic)/\(verb)" + (query.isEmpty ? "" : "?\(query)")
    }
}
