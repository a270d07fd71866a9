import ControlProtocol
import DocumentModel
import DocumentStore

/// One import of an export's lines, and how far it has come when it ends.
struct DocumentImport {
    /// The number of documents between two progress events.
    private static let importedBetweenEvents = 1000

    private let store: DocumentStore
    private let clearing: Bool
    private var reader: ImportReader
    private var target: StoreImport
    /// Whether the deletion of the documents from before has begun.
    private(set) var hasCleared = false
    /// The number of documents that are durable.
    var imported: Int { target.imported }

    /// - Parameter clearing: whether all documents are deleted once the first line is known to be an export's.
    init(_ store: DocumentStore, database: DatabaseID, clearing: Bool) {
        self.store = store
        self.clearing = clearing
        reader = ImportReader(into: database)
        target = StoreImport(store)
    }

    /// - Throws: `DocumentError` if a line is invalid, its number in the message, or the store can't commit; any error of
    ///   the input or of `onEvent`. The documents imported until then stay.
    mutating func run(
        _ input: some AsyncSequence<[UInt8], any Error> & Sendable, onEvent: (DataEvent) async throws -> Void
    ) async throws {
        var lines = LineBuffer()
        var reported = 0
        for try await piece in input {
            lines.append(piece)
            while let line = try lines.next() {
                let isFirst = reader.header == nil
                try await add(line)
                guard isFirst, clearing else { continue }
                hasCleared = true
                _ = try await store.clear { try await onEvent(.progress(done: $0, total: nil)) }
            }
            guard target.imported - reported >= Self.importedBetweenEvents else { continue }
            reported = target.imported
            try await onEvent(.progress(done: reported, total: nil))
        }
        if !lines.rest.isEmpty { try await add(Array(lines.rest)) }
        try reader.finish()
        try await target.finish()
    }

    private mutating func add(_ line: [UInt8]) async throws {
        guard let item = try reader.read(line) else { return }
        try await target.add(item.path, item.fields)
    }
}
