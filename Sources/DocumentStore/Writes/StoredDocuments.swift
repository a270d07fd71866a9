import StorageEngine
import DocumentModel

/// The documents that a commit has read, with their stored bytes, which are reused for the change log, and their weights.
final class StoredDocuments {
    private let storage: any StorageReader
    private let maxBytes: Int
    private let meter: QueryMeter?
    /// The total size of those that were read.
    private(set) var bytes = 0
    /// About what they take in memory: many small values take a multiple of what is stored.
    private var weight = 0
    private(set) var stored: [DocumentPath: StoredState] = [:]

    /// - Parameters:
    ///   - maxBytes: the limit on their total size, because all are held until the commit is stored. In memory they may
    ///     take twice as much.
    ///   - meter: counts the reads; nil for those of the writer.
    init(_ storage: any StorageReader, maxBytes: Int, meter: QueryMeter? = nil) {
        self.storage = storage
        self.maxBytes = maxBytes
        self.meter = meter
    }

    func document(_ path: DocumentPath) throws -> Document? {
        let key = DocumentKeys.key(of: path)
        let found = try storage.get(.documents, key)
        if let found { try meter?.readDocument(found.count) } else { try meter?.readEntries() }
        let document = try found.map { try StoredDocument.decode($0, path: path) }
        if stored[path] == nil {
            let state = StoredState(key: key, bytes: found, weight: document?.weight ?? 0)
            stored[path] = state
            bytes += found?.count ?? 0
            weight += state.weight
        }
        // Also for what was read before: a policy may go on after an error.
        guard bytes <= maxBytes, weight / 2 <= maxBytes else { throw DocumentError.readsTooMuch(maxBytes) }
        return document
    }
}

/// A document as it was read for a commit: its row, without bytes if there was none, and about what it takes in memory.
struct StoredState: Sendable {
    let key: [UInt8]
    let bytes: [UInt8]?
    let weight: Int
}

extension DocumentError {
    /// A smaller number of writes in one commit may succeed.
    static func readsTooMuch(_ limit: Int) -> DocumentError {
        .invalidArgument(
            "the documents that a commit changes, and those that rules read for it, have more than \(limit) bytes "
                + "before it, or take more than twice as many in memory, the limit; commit fewer at a time")
    }
}
