package import DocumentModel
package import RealtimeModel

/// A node of a Realtime Database that is exported or imported, and the format of its text.
package struct DatabasePlace: Hashable, Sendable {
    package enum Format: String, Hashable, Sendable, CaseIterable {
        /// One JSON value, as Firebase's console exports it.
        case json
        /// A line of JSON for each leaf.
        case jsonl
    }

    /// The database's name.
    package var database: String
    package var path: RealtimePath
    package var format: Format

    package init(_ database: String, path: RealtimePath = .root, format: Format = .json) {
        self.database = database
        self.path = path
        self.format = format
    }

    /// - Parameter path: as clients write it; slashes may be missing or repeated.
    /// - Throws: `invalidArgument` if it isn't a path.
    package init(_ database: String, path: String, format: Format) throws(DocumentError) {
        do throws(RealtimeError) {
            self.init(database, path: try RealtimePath(path), format: format)
        } catch {
            throw .invalidArgument("\(error.message); a path is keys with slashes between them, such as /rooms/r1")
        }
    }
}

extension DatabasePlace: CustomStringConvertible {
    /// The database, and the path if it isn't the root.
    package var description: String { path.isRoot ? database : "\(database) at \(path)" }
}

/// How a database's text is imported.
package struct DatabaseImportOptions: Hashable, Sendable {
    /// Whether many commits add to what exists, instead of one that replaces it.
    package var inSteps: Bool
    /// Whether the changes trigger functions.
    package var firesEvents: Bool

    package init(inSteps: Bool = false, firesEvents: Bool = true) {
        self.inSteps = inSteps
        self.firesEvents = firesEvents
    }
}
