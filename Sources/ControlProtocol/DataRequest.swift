package import DocumentModel

/// An operation on all data, such as a backup.
package enum DataRequest: Hashable, Sendable {
    /// - Parameter file: an absolute path. The process that has the store open writes the file.
    case backUp(file: String, replacing: Bool)
    case export(ExportSelection)
    /// - Parameter clearing: whether all documents are deleted first.
    case importDocuments(clearing: Bool)
    case check(repairing: Bool)
    case compact(whole: Bool)
    case clear
    case exportDatabase(DatabasePlace)
    case importDatabase(DatabasePlace, DatabaseImportOptions)

    /// Whether the request has a body.
    package var hasInput: Bool {
        switch self {
        case .importDocuments, .importDatabase: true
        case .backUp, .export, .check, .compact, .clear, .exportDatabase: false
        }
    }
}

/// The part of the data that an export has.
package enum ExportSelection: Hashable, Sendable {
    /// All documents and users.
    case everything
    /// The documents of these collections, with everything below them.
    case collections([CollectionPath])
    /// The users alone.
    case users

    /// The collections that are visited; empty for all of them.
    package var collections: [CollectionPath] {
        if case .collections(let collections) = self { collections } else { [] }
    }

    package var hasUsers: Bool {
        switch self {
        case .everything, .users: true
        case .collections: false
        }
    }
}

/// An event during a ``DataRequest``.
package enum DataEvent: Hashable, Sendable {
    case progress(done: Int, total: Int?)
    /// A problem that a check found, or what an export leaves out because it can't be read.
    case problem(String)
    /// Complete lines of an export.
    case lines([UInt8])
    /// A piece of a database's export, which may end anywhere.
    case bytes([UInt8])
}

/// The result of a ``DataRequest``: numbers by name.
package struct DataOutcome: Hashable, Sendable {
    package var numbers: [String: Int]

    package init(_ numbers: [String: Int] = [:]) { self.numbers = numbers }

    package subscript(_ name: String) -> Int { numbers[name] ?? 0 }
}
