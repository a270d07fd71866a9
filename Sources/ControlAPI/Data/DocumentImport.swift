import CommitPipeline
import ControlProtocol
import DocumentModel
import DocumentStore
import UserStore

/// One import of an export's lines, and how far it has come when it ends.
struct DocumentImport {
    /// The number of documents between two progress events.
    private static let importedBetweenEvents = 1000

    private let store: DocumentStore
    private let clearing: Bool
    private var reader: ImportReader
    private var target: StoreImport
    private var users: UserImport
    private let beginning: (ExportFormat.Header) async throws -> Void
    /// Whether the deletion of the documents from before has begun.
    private(set) var hasCleared = false
    /// The number of documents that are durable.
    var imported: Int { target.imported }
    /// The number of users that are durable.
    var importedUsers: Int { users.imported }

    /// - Parameters:
    ///   - clearing: whether all documents are deleted once the first line is known to be an export's.
    ///   - beginning: called with the first line; an error that it throws ends the import before it has changed anything.
    init(
        _ service: DataService, clearing: Bool,
        beginning: @escaping (ExportFormat.Header) async throws -> Void = { _ in }
    ) {
        store = service.store
        self.clearing = clearing
        self.beginning = beginning
        reader = ImportReader(into: service.database, now: service.store.pipeline.now().microseconds / 1_000_000)
        target = StoreImport(service.store)
        users = UserImport(service.users)
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
                if isFirst, let header = reader.header { try await beginning(header) }
                guard isFirst, clearing else { continue }
                hasCleared = true
                _ = try await store.clear { try await onEvent(.progress(done: $0, total: nil)) }
            }
            let done = target.imported + users.imported
            guard done - reported >= Self.importedBetweenEvents else { continue }
            reported = done
            try await onEvent(.progress(done: reported, total: nil))
        }
        if !lines.rest.isEmpty { try await add(Array(lines.rest)) }
        try reader.finish()
        try await target.finish()
        try await users.finish()
    }

    private mutating func add(_ line: [UInt8]) async throws {
        switch try reader.read(line) {
        case .document(let item):
            do throws(DocumentError) { try StoreImport.check(item.path, item.fields) } catch {
                throw DocumentError(error.code, "line \(reader.line), \(item.path): \(error.message)")
            }
            try await target.add(item.path, item.fields)
        case .user(let user): try await users.add(user, line: reader.line)
        case nil: break
        }
    }
}
