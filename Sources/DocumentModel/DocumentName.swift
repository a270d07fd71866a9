/// Identifies a database of a project.
public struct DatabaseID: Hashable, Sendable {
    public var project: String
    public var database: String

    public init(project: String, database: String = "(default)") {
        self.project = project
        self.database = database
    }

    /// `projects/P/databases/D`.
    public var resourceName: String { "projects/\(project)/databases/\(database)" }

    /// `projects/P/databases/D/documents`, the prefix of all document names.
    public var documentsRoot: String { resourceName + "/documents" }
}

/// A document's full resource name: `projects/P/databases/D/documents/users/ada`.
public struct DocumentName: Hashable, Sendable, CustomStringConvertible {
    public var database: DatabaseID
    public var path: DocumentPath

    public init(database: DatabaseID, path: DocumentPath) {
        self.database = database
        self.path = path
    }

    /// - Throws: `invalidArgument` if this isn't a document's full name.
    public init(_ resourceName: String) throws(DocumentError) {
        let parts = resourceName.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false
        ).map(Substring.init)
        guard parts.count == 6, parts[0] == "projects", parts[2] == "databases", parts[4] == "documents",
            !parts[1].isEmpty, !parts[3].isEmpty
        else {
            throw .invalidArgument(
                "\"\(resourceName)\" isn't a document name; write projects/P/databases/D/documents/PATH")
        }
        self.database = DatabaseID(project: String(parts[1]), database: String(parts[3]))
        self.path = try DocumentPath(String(parts[5]))
    }

    public var description: String { database.documentsRoot + "/" + path.string }
}
