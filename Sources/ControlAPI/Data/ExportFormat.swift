import DocumentModel
import FirestoreJSON
import StrictJSON

/// The lines of an export: a header, one line for each document, and a last line with the number of documents, which
/// shows that the export is complete. Each line is a JSON object; values have the format of Firestore's REST API.
package enum ExportFormat {
    static let name = "functions-host documents"
    static let version = 1

    struct Header: Hashable, Sendable {
        var database: DatabaseID
        var readTime: Timestamp
        /// Empty if all collections are exported.
        var collections: [CollectionPath] = []
    }

    static func write(_ header: Header, to text: inout JSONWriter) {
        text.raw("{\"format\":")
        text.string(name)
        text.raw(",\"version\":")
        text.integer(version)
        text.raw(",\"project\":")
        text.string(header.database.project)
        text.raw(",\"database\":")
        text.string(header.database.database)
        text.raw(",\"readTime\":")
        text.string(header.readTime.rfc3339)
        if !header.collections.isEmpty {
            text.raw(",\"collections\":")
            text.array(header.collections) { $0.string($1.string) }
        }
        text.raw("}\n")
    }

    static func write(_ document: Document, to text: inout JSONWriter) {
        text.raw("{\"path\":")
        text.string(document.path.string)
        text.raw(",\"createTime\":")
        text.string(document.createTime.rfc3339)
        text.raw(",\"updateTime\":")
        text.string(document.updateTime.rfc3339)
        text.raw(",\"fields\":")
        text.fields(document.fields)
        text.raw("}\n")
    }

    static func writeEnd(count: Int, to text: inout JSONWriter) {
        text.raw("{\"count\":")
        text.integer(count)
        text.raw("}\n")
    }
}
