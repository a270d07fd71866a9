import DocumentModel

extension DatabaseID {
    /// - Throws: `notFound` if a request names another database than this one, which the host serves.
    func check(_ name: String) throws(DocumentError) {
        if name == resourceName { return }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "projects", parts[2] == "databases", !parts[1].isEmpty, !parts[3].isEmpty
        else {
            throw .invalidArgument("\"\(name)\" isn't the name of a database; write projects/P/databases/D")
        }
        throw doesNotExist(DatabaseID(project: String(parts[1]), database: String(parts[3])))
    }

    /// The web SDK looks for Firestore's words, and warns that the app's configuration is wrong.
    func doesNotExist(_ other: DatabaseID) -> DocumentError {
        DocumentError(
            .notFound,
            "The database \(other.database) does not exist for project \(other.project): "
                + "this host serves \(resourceName)")
    }
}
