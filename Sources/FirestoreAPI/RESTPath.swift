import DocumentModel
import TextFormats

/// What a URL's path names: `/v1/projects/P/databases/D/documents[/PATH][:VERB]`.
struct RESTPath: Hashable, Sendable {
    var database: DatabaseID
    /// Of the path below `documents`, decoded.
    var segments: [String]
    /// The custom method after the last segment's colon, such as `commit`.
    var verb: String?
    /// Whether it stands under `/emulator`, where development's helpers are.
    var isHelper: Bool

    /// - Parameter hasVerb: whether a colon in the last segment starts a verb, as in POST; ids may contain colons.
    /// - Returns: nil where the path isn't one of documents.
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
        // A slash at the very end is forgiven.
        if parts.last == "" { parts.removeLast() }
        self.database = DatabaseID(project: decodedProject, database: decodedDatabase)
        segments = []
        for part in parts {
            // A decoded slash would turn one id into two.
            guard let segment = PercentEncoding.decoded(part), !segment.utf8.contains(UInt8(ascii: "/")) else {
                return nil
            }
            segments.append(segment)
        }
    }

    /// - Throws: `invalidArgument` where the segments name no document.
    func document() throws(DocumentError) -> DocumentPath { try DocumentPath(segments.joined(separator: "/")) }

    /// - Throws: `invalidArgument` where the segments name no collection.
    func collection() throws(DocumentError) -> CollectionPath { try CollectionPath(segments.joined(separator: "/")) }

    /// The document that a query or a listing is below; nil for the root.
    /// - Throws: `invalidArgument` where the segments name no document.
    func parent() throws(DocumentError) -> DocumentPath? { segments.isEmpty ? nil : try document() }
}
