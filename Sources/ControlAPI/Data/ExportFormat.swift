import DocumentModel
import FirestoreJSON
import IdentityProvider
import StrictJSON
import UserStore

/// The lines of an export: a header, one line for each document and then for each user, and a last line with their
/// numbers, which shows that the export is complete. Each line is a JSON object; values have the format of Firestore's
/// REST API, users that of ``UserFormat``.
package enum ExportFormat {
    static let name = "functions-host documents"
    /// The version of an export that has users; without them it is 1, which earlier hosts read too.
    static let version = 2

    struct Header: Hashable, Sendable {
        var database: DatabaseID
        var readTime: Timestamp
        /// Empty if all collections are exported.
        var collections: [CollectionPath] = []
        /// Whether the export has the users, even if there are none.
        var hasUsers = false

        var version: Int { hasUsers ? ExportFormat.version : 1 }
    }

    static func write(_ header: Header, to text: inout JSONWriter) {
        text.raw("{\"format\":")
        text.string(name)
        text.raw(",\"version\":")
        text.integer(header.version)
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
        if header.hasUsers { text.raw(",\"users\":true") }
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

    static func write(_ user: UserRecord, to text: inout JSONWriter) throws {
        text.raw("{\"user\":")
        try text.value(.object(UserFormat.json(of: user)))
        text.raw("}\n")
    }

    /// - Parameter users: nil for an export without users.
    static func writeEnd(count: Int, users: Int? = nil, to text: inout JSONWriter) {
        text.raw("{\"count\":")
        text.integer(count)
        if let users {
            text.raw(",\"users\":")
            text.integer(users)
        }
        text.raw("}\n")
    }
}
