package import DocumentModel
import TextFormats

/// The query parameters of a URL. Parameters that the route doesn't read are refused.
///
/// As in Google's APIs, a parameter has two names: as in JSON and as in the .proto file, `mask.fieldPaths` and
/// `mask.field_paths`.
package struct RESTParameters: Sendable {
    private let values: [(name: String, value: String)]

    /// Parameters that any request to Google's APIs may have, and that change nothing here. An answer has all fields,
    /// whichever `fields` selects.
    private static let ignored: Set<String> = [
        "key", "alt", "prettyPrint", "fields", "quotaUser", "uploadType", "upload_protocol", "$alt", "$prettyPrint",
        "$.xgafv",
    ]

    /// - Parameter known: the names that the route reads, as in JSON.
    /// - Throws: `invalidArgument` that names an unknown parameter.
    package init(_ query: String?, known: Set<String>) throws(DocumentError) {
        var values: [(name: String, value: String)] = []
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
                PercentEncoding.decoded(part, plusIsSpace: true)
            }
            guard let name = parts[0], let value = parts.count == 2 ? parts[1] : "" else {
                throw .invalidArgument("the query parameter \"\(pair)\" is not valid percent-encoding")
            }
            guard !Self.ignored.contains(name) else { continue }
            let spelling = known.contains(name) ? name : ProtoNames.camelCase(name)
            guard known.contains(spelling) else { throw .invalidArgument("unknown query parameter \"\(name)\"") }
            values.append((spelling, value))
        }
        self.values = values
    }

    /// The last value of this name.
    package subscript(_ name: String) -> String? { values.last { $0.name == name }?.value }

    package func boolean(_ name: String) throws(DocumentError) -> Bool? {
        switch self[name] {
        case nil: return nil
        case "true"?: return true
        case "false"?: return false
        case let text?: throw .invalidArgument("\(name): \"\(text)\" is neither true nor false")
        }
    }

    /// All values of this name.
    package func all(_ name: String) -> [String] { values.filter { $0.name == name }.map(\.value) }
}
