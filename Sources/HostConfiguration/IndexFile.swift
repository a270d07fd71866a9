package import DocumentStore

/// The validated content of `firestore.indexes.json`, the file that Firebase's tools read and write.
package struct IndexFile: Hashable, Sendable {
    package var configuration = IndexConfiguration()
    /// Fields with a time to live, such as `sessions.expiresAt`. This host doesn't delete expired documents.
    package var expiring: [String] = []
    /// Messages about indexes that this host doesn't support, each with its place in the file.
    package var skipped: [String] = []

    /// The content of the file; empty if there is none.
    package private(set) var source: [UInt8] = []

    package init() {}

    /// - Throws: all problems of the file at once.
    package static func load(_ path: String) throws(ConfigurationError) -> IndexFile {
        try IndexFile(
            try ConfigurationFile.read(path, hint: "create it, or name another one as \"indexes\" in functions.json"),
            path: path)
    }

    /// - Parameter path: for messages.
    /// - Throws: all problems of the file at once.
    package init(_ source: [UInt8], path: String) throws(ConfigurationError) {
        self = try ConfigurationReader.readIndexes(source, file: path)
        self.source = source
    }

    /// One line for each index and each exemption from the automatic ones.
    package var summaries: Set<String> {
        Set(configuration.indexes.map(\.summary) + configuration.exemptions.map(\.summary))
    }
}

extension IndexDefinition {
    /// `index orders (collection): buyer ascending, time descending`.
    fileprivate var summary: String {
        let fields = fields.map { "\($0.path) \($0.kind)" }.joined(separator: ", ")
        return "index \(collectionID) (\(scope == .collection ? "collection" : "collection group")): \(fields)"
    }
}

extension FieldExemption {
    fileprivate var summary: String {
        let kept = [isOrdered ? "order" : nil, hasElements ? "elements of arrays" : nil].compactMap(\.self)
        return "automatic indexes of \(collectionID).\(field.map { "\($0)" } ?? "*"): "
            + (kept.isEmpty ? "none" : kept.joined(separator: ", "))
    }
}

extension ConfigurationKeys {
    static let indexFile = ["indexes", "fieldOverrides"]
    static let index = ["collectionGroup", "queryScope", "fields", "density", "apiScope", "multikey", "unique"]
    static let indexField = ["fieldPath", "order", "arrayConfig", "vectorConfig"]
    static let fieldOverride = ["collectionGroup", "fieldPath", "indexes", "ttl"]
    static let fieldOverrideIndex = [
        "order", "arrayConfig", "vectorConfig", "queryScope", "density", "apiScope", "multikey", "unique",
    ]
}
