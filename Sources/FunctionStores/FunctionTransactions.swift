import CommitPipeline
package import DocumentModel
package import DocumentStore
package import IdentityProvider
import RealtimeModel
import RealtimeStore
import StrictJSON
import Synchronization
import UserModel
package import WorkerProtocol

/// Functions' transactions over documents, the host's users and its Realtime Databases: all of it is one commit.
package struct FunctionTransactions: TransactionBackend {
    private let documents: DocumentStore
    private let users: FunctionUsers?
    private let databases: FunctionDatabases

    /// - Parameter users: nil if the host has none of its own. All are on the documents' commit pipeline.
    package init(_ documents: DocumentStore, users: FunctionUsers?, databases: FunctionDatabases) {
        self.documents = documents
        self.users = users
        self.databases = databases
    }

    package func commit(
        _ changes: TransactionChanges, with writes: [Write], transaction: TransactionID, completing: [UInt8]?,
        effects: [Effect], in context: OperationContext, completion: @escaping Completion<CommitAnswer>
    ) {
        guard context.policy == nil else {
            return completion(
                .failure(.failed(DocumentError(.permissionDenied, "only functions and other admins have this access"))))
        }
        @Sendable func commit(_ userPart: FunctionUsers.Part?) {
            let parts: [RealtimeCommit]
            do throws(UserFailure) {
                parts = try databases.commits(changes.database)
            } catch {
                return completion(.failure(error))
            }
            self.commit(
                userPart, parts, with: writes, transaction: transaction, completing: completing, effects: effects,
                in: context, completion: completion)
        }
        // No thread is woken for little work.
        if changes.users.isEmpty, changes.database.size <= FunctionDatabases.smallBytes { return commit(nil) }
        Task {
            do throws(UserFailure) {
                commit(try await part(changes.users, context))
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func commit(
        _ userPart: FunctionUsers.Part?, _ parts: [RealtimeCommit], with writes: [Write], transaction: TransactionID,
        completing: [UInt8]?, effects: [Effect], in context: OperationContext,
        completion: @escaping Completion<CommitAnswer>
    ) {
        let stale = StaleRead()
        let commits = parts.map { part in
            var part = part
            let name = part.namespace
            part.onStale = { path in stale.place.withLock { $0 = (name, path) } }
            return part
        }
        documents.commit(
            writes, transaction: transaction, completing: completing, effects: effects,
            beside: { [store = databases.store] in
                (userPart.map { [$0.make()] } ?? []) + commits.map { store.part($0) }
            }, in: context
        ) { [databases] result in
            let answer = result.mapError { userPart?.refusal ?? .failed($0) }
            let place = stale.place.withLock { $0 }
            // One of several databases is enough, since their transactions are one.
            let expecting = commits.filter { !$0.expectations.isEmpty }
            let first = expecting.first { $0.namespace == place?.namespace } ?? expecting.first ?? commits.first
            guard let owner = context.owner, let commit = first else { return completion(answer) }
            databases.store.complete(
                commit.expectations.map(\.path), stale: place?.path, in: commit.namespace,
                of: databases.retrying(owner, context), isAnsweredAtOnce: !databases.observes(owner)
            ) { completion(answer) }
        }
    }

    private func part(
        _ changes: UserChanges, _ context: OperationContext
    ) async throws(UserFailure) -> FunctionUsers.Part? {
        guard !changes.isEmpty else { return nil }
        guard let users else {
            throw .failed(
                DocumentError(.failedPrecondition, "this host has no users of its own that a transaction could change"))
        }
        return try await users.part(changes, in: context)
    }
}

/// What a transaction has read that had changed when it was committed.
private final class StaleRead: Sendable {
    let place = Mutex<(namespace: String, path: RealtimePath)?>(nil)
}

extension FunctionDatabases {
    /// The commits of a transaction, one for each database.
    fileprivate func commits(_ changes: DatabaseChanges) throws(UserFailure) -> [RealtimeCommit] {
        do throws(DocumentError) {
            try changes.check()
            var names: [String] = []
            var writes: [String: [DatabaseRequest]] = [:]
            var expectations: [String: [RealtimeExpectation]] = [:]
            func note(_ name: String) { if !names.contains(name) { names.append(name) } }
            for expectation in changes.expectations {
                let read = try read(of: expectation.read)
                note(read.name)
                expectations[read.name, default: []].append(
                    RealtimeExpectation(
                        read.path, matching: read.query, hash: expectation.hash, version: expectation.version))
            }
            for request in changes.writes {
                let name = try name(of: request)
                note(name)
                writes[name, default: []].append(request)
            }
            var commits: [RealtimeCommit] = []
            for name in names {
                var request = RealtimeCommit([], in: name)
                if let writes = writes[name] { request = try commit(writes) }
                request.expectations = expectations[name] ?? []
                commits.append(request)
            }
            return commits
        } catch {
            throw .failed(error)
        }
    }
}
