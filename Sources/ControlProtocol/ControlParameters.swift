package import DocumentModel
import TextFormats

/// The parameters of a command's request, as the host reads them.
package struct ControlParameters: Sendable {
    private var parameters: [(name: String, value: String)] = []

    /// - Throws: `invalidArgument` if the query is malformed.
    package init(query: String?) throws(DocumentError) {
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard let name = parts.first, let value = PercentEncoding.decoded(parts.count == 2 ? parts[1] : "") else {
                throw .invalidArgument("the query \(pair) is malformed")
            }
            parameters.append((String(name), value))
        }
    }

    /// - Parameter body: a request's body that has the parameters.
    /// - Throws: `invalidArgument` if it is malformed.
    package init(body: [UInt8]) throws(DocumentError) { try self.init(query: String(decoding: body, as: UTF8.self)) }

    /// The first value of a name.
    package subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    func all(_ name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }

    /// Whether a flag was given.
    package func has(_ name: String) -> Bool { self[name] == "true" }

    /// - Throws: `invalidArgument` if it is missing.
    package func required(_ name: String) throws(DocumentError) -> String {
        guard let value = self[name] else { throw .invalidArgument("the parameter \(name) is missing") }
        return value
    }

    /// - Returns: nil if it is missing.
    /// - Throws: `invalidArgument` if it is not an integer in the range.
    package func integer(_ name: String, in range: ClosedRange<Int>) throws(DocumentError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalidArgument("\(name) is \(text); it must be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
