import DocumentModel

/// The documents that a commit looked at, with their stored bytes, which the change log takes over.
final class StoredDocuments {
    private let storage: any StorageWriter
    private var stored: [DocumentPath: (key: [UInt8], bytes: [UInt8]?)] = [:]

    init(_ storage: any StorageWriter) { self.storage = storage }

    func document(_ path: DocumentPath) throws -> Document? {
        let key = DocumentKeys.key(of: path)
        let bytes = try storage.get(.documents, key)
        stored[path] = (key, bytes)
        return try bytes.map { try StoredDocument.decode($0, path: path) }
    }

    func stored(_ path: DocumentPath) -> (key: [UInt8], bytes: [UInt8]?) {
        stored[path] ?? (DocumentKeys.key(of: path), nil)
    }
}
