import DocumentModel
import RealtimeModel
import StrictJSON

/// The lines of a database's export: a header, a line for each row in the order of the tree (``RealtimeRowLine``), and a last
/// line with their number, which shows that the export is complete. No line is longer than a leaf needs.
enum DatabaseLines {
    static let name = "functions-host database"
    static let version = 1

    struct Header: Hashable, Sendable {
        var database: String
        /// The node that the paths of the lines begin at.
        var path: RealtimePath
        var readTime: Timestamp
    }

    static func write(_ header: Header, to text: inout JSONWriter) {
        text.raw("{\"format\":")
        text.string(name)
        text.raw(",\"version\":")
        text.integer(version)
        text.raw(",\"database\":")
        text.string(header.database)
        text.raw(",\"path\":")
        text.string("\(header.path)")
        text.raw(",\"readTime\":")
        text.string(header.readTime.rfc3339)
        text.raw("}\n")
    }

    static func writeEnd(count: Int, to text: inout JSONWriter) {
        text.raw("{\"count\":")
        text.integer(count)
        text.raw("}\n")
    }

    /// Checks that a line is a header that this program can read.
    static func checkHeader(_ root: JSONNode) throws(JSONProblem) {
        guard case .string(let format)? = root["format"]?.kind, format == name else {
            let isDocuments = if case .string(ExportFormat.name)? = root["format"]?.kind { true } else { false }
            throw root.problem(
                isDocuments
                    ? "this is an export of documents; import it without --database"
                    : "this is not an export of a database in JSON Lines; its first line must have \"format\": \"\(name)\""
            )
        }
        guard let node = root["version"] else { throw root.problem("the header has no version") }
        let number = try node.integer()
        guard (1...Int64(version)).contains(number) else {
            throw node.problem(
                "the export has version \(number); this program reads versions up to \(version)")
        }
    }
}
