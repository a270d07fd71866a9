import DocumentModel

/// A URL's query parameters, read strictly: what no route asks for is refused.
struct RESTParameters: Sendable {
    private let values: [(name: String, value: String)]

    /// What any request to Google's APIs may carry, and what changes nothing here.
    private static let ignored: Set<String> = ["key", "alt", "prettyPrint", "$alt", "$prettyPrint"]

    /// - Parameter known: the names that the route reads.
    /// - Throws: `invalidArgument` that names an unknown parameter.
    init(_ query: String?, known: Set<String>) throws(DocumentError) {
        var values: [(name: String, value: String)] = []
        for pair in (query ?? "").split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
                PercentEncoding.decoded(
                    part.split(separator: "+", omittingEmptySubsequences: false).joined(separator: " "))
            }
            guard let name = parts[0], let value = parts.count == 2 ? parts[1] : "" else {
                throw .invalidArgument("the query parameter \"\(pair)\" is not well encoded")
            }
            guard !Self.ignored.contains(name) else { continue }
            guard known.contains(name) else { throw .invalidArgument("unknown query parameter \"\(name)\"") }
            values.append((name, value))
        }
        self.values = values
    }

    /// The last one of this name.
    subscript(_ name: String) -> String? { values.last { $0.name == name }?.value }

    /// Nil where there is none of this name.
    func fieldPaths(_ name: String) throws(DocumentError) -> [FieldPath]? {
        let texts = values.filter { $0.name == name }.map(\.value)
        guard !texts.isEmpty else { return nil }
        var paths: [FieldPath] = []
        for text in texts { paths.append(try FieldPath(rest: text)) }
        return paths
    }

    /// What `transaction` and `readTime` say of the state to read.
    func consistency() throws(DocumentError) -> ReadConsistency {
        guard let text = self["transaction"] else {
            guard let text = self["readTime"] else { return .strong }
            guard let time = Timestamp(rfc3339: text) else {
                throw .invalidArgument("readTime: \"\(text)\" is no time")
            }
            return .at(time)
        }
        guard self["readTime"] == nil else { throw .invalidArgument("transaction and readTime exclude each other") }
        guard let id = RESTBase64.bytes(text).flatMap(TransactionID.init(restBytes:)) else {
            throw .invalidArgument("transaction: \"\(text)\" is no transaction")
        }
        return .transaction(id)
    }

    func boolean(_ name: String) throws(DocumentError) -> Bool? {
        switch self[name] {
        case nil: return nil
        case "true"?: return true
        case "false"?: return false
        case let text?: throw .invalidArgument("\(name): \"\(text)\" is neither true nor false")
        }
    }

    func precondition() throws(DocumentError) -> Write.Precondition? {
        let exists = try boolean("currentDocument.exists")
        guard let text = self["currentDocument.updateTime"] else { return exists.map { .exists($0) } }
        guard exists == nil else {
            throw .invalidArgument("currentDocument: exists and updateTime exclude each other")
        }
        guard let time = Timestamp(rfc3339: text) else {
            throw .invalidArgument("currentDocument.updateTime: \"\(text)\" is no time")
        }
        return .updateTime(time)
    }
}
