import DocumentModel
import TextFormats

/// The resource and method that a URL path names: `/v1/projects/P/databases/D/documents[/PATH][:VERB]`.
struct RESTPath: Hashable, Sendable {
    var database: DatabaseID
    /// The decoded segments below `documents`.
    var segments: [String]
    /// The custom method after the colon in the last segment, such as `commit`.
    var verb: String?
    /// Whether the path begins with `/emulator`, as those of the development helpers do.
    var isHelper: Bool

    /// - Parameter hasVerb: whether a colon in the last segment starts a verb, as in POST; ids may contain colons.
    /// - Returns: nil if the path is not below a database's documents.
    init?(_ path: String, hasVerb: Bool) {
        var parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Substring.init).dropFirst()
        isHelper = parts.first == "emulator"
        if isHelper { parts = parts.dropFirst() }
        guard parts.popFirst() == "v1", parts.popFirst() == "projects", let project = parts.popFirst(),
            parts.popFirst() == "databases", let database = parts.popFirst(), !parts.isEmpty
        else { return nil }
        if hasVerb, let last = parts.popLast() {
            let colon = last.lastIndex(of: ":")
            verb = colon.map { String(last[last.index(after: $0)...]) }
            parts.append(last[..<(colon ?? last.endIndex)])
        }
        guard parts.popFirst() == "documents",
            let decodedProject = PercentEncoding.decoded(project),
            let decodedDatabase = PercentEncoding.decoded(database)
        else { return nil }
        // A trailing slash is allowed.
        if parts.last == "" { parts.removeLast() }
        self.database = DatabaseID(project: decodedProject, database: decodedDatabase)
        segments = []
        for part in parts {
            // A decoded slash would split one id in two.
            guard let segment = PercentEncoding.decoded(part), !segment.utf8.contains(UInt8(ascii: "/")) else {
                return nil
            }
            segments.append(segment)
        }
    }

    /// - Throws: `invalidArgument` if the segments don't name a document.
    func document() throws(DocumentError) -> DocumentPath { try DocumentPath(segments.joined(separator: "/")) }

    /// - Throws: `invalidArgument` if the segments don't name a collection.
    func collection() throws(DocumentError) -> CollectionPath { try CollectionPath(segments.joined(separator: "/")) }

    /// The parent document of a query or a listing; nil for the root.
    /// - Throws: `invalidArgument` if the segments don't name a document.
    func parent() throws(DocumentError) -> DocumentPath? { segments.isEmpty ? nil : try document() }
}
