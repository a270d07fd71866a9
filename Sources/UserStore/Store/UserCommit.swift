package import CommitPipeline
import DocumentModel
package import StorageEngine

/// The part of a commit that changes users.
package final class UserCommit: CommitPart {
    private let body: (UserTransaction) throws -> Void
    private let project: String
    private var transaction: UserTransaction?
    /// What the body threw.
    private(set) var failure: (any Error)?

    /// - Parameter body: decides on the changes; what it throws refuses the commit.
    init(project: String, _ body: @escaping (UserTransaction) throws -> Void) {
        self.project = project
        self.body = body
    }

    package func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {
        // Not the version: if the clock is set back, versions go on from the time that it has shown, and tokens would be
        // issued, and mails due, in the future.
        let transaction = UserTransaction(batch.storage, now: batch.now())
        do {
            try body(transaction)
        } catch let error as StorageError {
            throw error
        } catch let error as DecodingFailure {
            throw DocumentError(ofUser: error)
        } catch {
            failure = error
            throw error as? DocumentError ?? DocumentError(.failedPrecondition, "the change of users was refused")
        }
        self.transaction = transaction
    }

    package func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
        guard let transaction, !transaction.changes.isEmpty else { return }
        for (key, value) in transaction.changes {
            if let value {
                try storage.put(.users, key, value)
                batch.add(bytes: key.count + value.count)
            } else {
                try storage.delete(.users, key)
            }
        }
        batch.versions.claim(version)
    }

    package func events(by routes: EventRoutes) -> [CausedEvent] {
        (transaction?.lifecycle ?? []).compactMap { change in
            let type =
                switch change {
                case .created: UserEvent.created
                case .deleted: UserEvent.deleted
                }
            var event = UserEvent.outline(type, project: project)
            let receivers = routes.receivers(of: event)
            guard !receivers.isEmpty else { return nil }
            switch change {
            case .created(let user), .deleted(let user): UserEvent.fill(&event, with: user)
            }
            return CausedEvent(.custom(event), for: receivers.map { .init(function: $0) })
        }
    }
}

/// Changes users in a commit of their own.
struct UserJob<Result: Sendable>: CommitJob {
    let project: String
    let context: OperationContext
    let body: @Sendable (UserTransaction) throws -> Result
    let completion: @Sendable (Swift.Result<Result, any Error>) -> Void

    func run(in batch: CommitBatch) throws {
        var result: Result?
        let part = UserCommit(project: project) { [body] transaction in result = try body(transaction) }
        let outcome = try batch.run(Commit([part], in: context))
        batch.whenDurable { error in
            if let failure = part.failure { return completion(.failure(failure)) }
            if let error { return completion(.failure(error)) }
            switch (outcome, result) {
            case (.refused(let error), _): completion(.failure(error))
            case (_, let result?): completion(.success(result))
            case (_, nil): completion(.failure(DocumentError(.internal, "a change of users had no result")))
            }
        }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}

extension DocumentError {
    fileprivate init(ofUser failure: DecodingFailure) {
        self.init(.dataLoss, "a stored user can't be read, the store is damaged: \(failure.reason)")
    }
}

/// Reads users in one durable state.
struct UserRead<Result: Sendable>: SnapshotJob {
    let body: @Sendable (UserSnapshot) throws -> Result
    let completion: @Sendable (Swift.Result<Result, any Error>) -> Void

    func run(on snapshot: Snapshot) {
        let result = Swift.Result { try body(UserSnapshot(snapshot.storage)) }
            .mapError { error -> any Error in
                guard let failure = error as? DecodingFailure else { return error }
                return DocumentError(ofUser: failure)
            }
        snapshot.complete { [completion] in completion(result) }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}
