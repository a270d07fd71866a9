import StorageEngine
import DocumentModel

/// The documents that a commit has read, with their stored bytes, which are reused for the change log.
final class StoredDocuments {
    private let storage: any StorageReader
    private let maxBytes: Int
    private var bytes = 0
    private var stored: [DocumentPath: (key: [UInt8], bytes: [UInt8]?)] = [:]

    /// - Parameter maxBytes: the limit on their total size, because all are held until the commit is stored.
    init(_ storage: any StorageReader, maxBytes: Int) {
        self.storage = storage
        self.maxBytes = maxBytes
    }

    func document(_ path: DocumentPath) throws -> Document? {
        let key = DocumentKeys.key(of: path)
        let found = try storage.get(.documents, key)
        if stored.updateValue((key, found), forKey: path) == nil { bytes += found?.count ?? 0 }
        guard bytes <= maxBytes else { throw DocumentError.readsTooMuch(maxBytes) }
        return try found.map { try StoredDocument.decode($0, path: path) }
    }

    func stored(_ path: DocumentPath) -> (key: [UInt8], bytes: [UInt8]?) {
        stored[path] ?? (DocumentKeys.key(of: path), nil)
    }
}

extension DocumentError {
    /// A smaller number of writes in one commit may succeed.
    static func readsTooMuch(_ limit: Int) -> DocumentError {
        .invalidArgument(
            "the documents that a commit changes, and those that rules read for it, have more than \(limit) bytes "
                + "before it, the limit; commit fewer at a time")
    }
}
