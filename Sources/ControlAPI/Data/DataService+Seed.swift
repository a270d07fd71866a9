package import DocumentModel
import DocumentStore
import UserStore

extension DataService {
    /// Whether the store has no document.
    package func hasNoDocuments() async throws(DocumentError) -> Bool {
        let found: Result<[DocumentPath], DocumentError> = await withCheckedContinuation { continuation in
            store.paths(atMost: 1) { continuation.resume(returning: $0) }
        }
        return try found.get().isEmpty
    }

    /// Imports an export into a store without documents: all of it, or nothing. If the export has users, the store must
    /// have none either.
    ///
    /// The process must not serve anyone yet: if the import fails, all documents of the store are deleted, and all users
    /// if there were none before. If the store refuses that, too, the error says so.
    ///
    /// - Returns: the numbers of imported documents and users.
    /// - Throws: any error of the input, or `DocumentError`, which names the line if one is invalid.
    package func seed(_ input: some AsyncSequence<[UInt8], any Error> & Sendable) async throws -> (
        documents: Int, users: Int
    ) {
        let hadUsers = try await hasUsers()
        var work = DocumentImport(self, clearing: false) { header in
            guard header.hasUsers, hadUsers else { return }
            throw DocumentError(
                .failedPrecondition,
                "the file has users, and so has the store: delete the data directory, or import the file into the running "
                    + "host with \"functions-host data import\", which replaces users with the same uids")
        }
        do {
            try await work.run(input) { _ in }
        } catch {
            do {
                _ = try await store.clear()
                if !hadUsers { try await deleteUsers() }
            } catch let remaining {
                throw Self.incomplete(error, remaining)
            }
            throw error
        }
        return (work.imported, work.importedUsers)
    }

    /// What an operator needs to know of an import that failed, and whose beginning can't be deleted.
    private static func incomplete(_ error: any Error, _ remaining: any Error) -> DocumentError {
        func sentence(_ error: any Error) -> String { (error as? DocumentError)?.message ?? "\(error)" }
        return DocumentError(
            (error as? DocumentError)?.code ?? .unavailable,
            "\(sentence(error)) (what was imported before stays, because it can't be deleted: \(sentence(remaining)); "
                + "once that is repaired, \"functions-host data clear --yes\" deletes it, except for users)")
    }

    private func hasUsers() async throws -> Bool {
        guard let users else { return false }
        return try await users.read { try $0.hasUsers() }
    }

    private func deleteUsers() async throws {
        guard let users else { return }
        while true {
            let uids = try await users.read { try $0.users(after: nil, limit: 500, damaged: { _, _ in }).map(\.uid) }
            guard !uids.isEmpty else { return }
            try await users.commit(in: OperationContext(firesEvents: false)) { transaction in
                for uid in uids { try transaction.delete(uid) }
            }
        }
    }
}
