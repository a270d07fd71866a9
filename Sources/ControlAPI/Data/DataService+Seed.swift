package import DocumentModel
import DocumentStore

extension DataService {
    /// Whether the store has no document.
    package func hasNoDocuments() async throws(DocumentError) -> Bool {
        let found: Result<[DocumentPath], DocumentError> = await withCheckedContinuation { continuation in
            store.paths(atMost: 1) { continuation.resume(returning: $0) }
        }
        return try found.get().isEmpty
    }

    /// Imports an export into a store without documents: all of it, or nothing.
    ///
    /// The process must not serve anyone yet: if the import fails, all documents of the store are deleted.
    ///
    /// - Returns: the number of imported documents.
    /// - Throws: any error of the input, or `DocumentError`, which names the line if one is invalid.
    package func seed(_ input: some AsyncSequence<[UInt8], any Error> & Sendable) async throws -> Int {
        var work = DocumentImport(store, database: database, clearing: false)
        do {
            try await work.run(input) { _ in }
        } catch {
            _ = try await store.clear()
            throw error
        }
        return work.imported
    }
}
