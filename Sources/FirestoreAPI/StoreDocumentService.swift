package import DocumentModel
package import DocumentStore
package import SecurityRules

/// The document store as the service behind the public APIs.
package struct StoreDocumentService: DocumentService {
    private let store: DocumentStore
    private let database: DatabaseID
    private let rules: ClientRules

    /// - Parameter rules: what clients may do.
    package init(_ store: DocumentStore, database: DatabaseID, rules: ClientRules) {
        self.store = store
        self.rules = rules
        self.database = database
    }

    package func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> DocumentsAnswer {
        try await store.get(paths, consistency, in: context(principal))
    }

    /// The same for a call on its event loop.
    func get(
        _ paths: [DocumentPath], as principal: Principal, in call: ClientCall,
        completion: @escaping @Sendable (Result<DocumentsAnswer, DocumentError>) -> Void
    ) {
        store.get(paths, .strong, in: context(principal, of: call), completion: completion)
    }

    package func query(
        _ query: Query, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> QueryAnswer {
        try await store.query(query, consistency, in: context(principal))
    }

    package func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> AggregateAnswer {
        try await store.aggregate(query, fields, consistency, in: context(principal))
    }

    package func nearest(
        _ search: VectorSearch, of query: Query, analyze: Bool?, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer {
        if analyze != nil { try requireAdmin(principal) }
        let (store, context) = (store, context(principal))
        return try await withCheckedContinuation { continuation in
            store.nearest(search, of: query, isRun: analyze ?? true, consistency, in: context) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    package func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer {
        try requireAdmin(principal)
        return try await store.explain(query, fields, analyze: analyze, consistency, in: context(principal))
    }

    package func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> PartitionAnswer {
        try requireAdmin(principal)
        return try await store.partition(query, points: points, consistency, in: context(principal))
    }

    package func begin(_ mode: TransactionMode, as principal: Principal) async throws(DocumentError) -> TransactionID {
        // Where clients may do nothing, a transaction would only hold a slot.
        if principal != .admin, case .closed = rules.current { throw Self.denied }
        guard case .began(let transaction, _) = try await store.begin(mode, in: context(principal)) else {
            throw DocumentError(.internal, "a begin without an idempotency key was answered with a kept answer")
        }
        return transaction
    }

    package func commit(
        _ writes: [Write], transaction: TransactionID?, as principal: Principal
    ) async throws(DocumentError) -> CommitResult {
        try await store.commit(writes, transaction: transaction, in: context(principal)).result
    }

    /// The same for a call on its event loop.
    func commit(
        _ writes: [Write], _ transaction: TransactionID?, as principal: Principal, in call: ClientCall,
        completion: @escaping @Sendable (Result<CommitResult, DocumentError>) -> Void
    ) {
        store.commit(
            writes, transaction: transaction, completing: nil, effects: [], in: context(principal, of: call)
        ) { answer in
            completion(Result { () throws(DocumentError) in try answer.get().result })
        }
    }

    package func batchWrite(
        _ writes: [Write], as principal: Principal
    ) async throws(DocumentError) -> [Result<WriteResult, DocumentError>] {
        try await store.batchWrite(writes, in: context(principal))
    }

    package func rollback(_ transaction: TransactionID, as principal: Principal) async throws(DocumentError) {
        _ = try await store.rollback(transaction, in: context(principal))
    }

    package func ids(
        _ place: ListedIDs, after: String?, atMost limit: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> [String] {
        let context = context(principal)
        let store = store
        return try await withCheckedContinuation { continuation in
            store.ids(place, after: after, atMost: limit, consistency, in: context) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    package func clear() async throws(DocumentError) {
        do { _ = try await store.clear() } catch {
            throw error as? DocumentError ?? DocumentError(.cancelled, "not all documents were deleted")
        }
    }

    private func requireAdmin(_ principal: Principal) throws(DocumentError) {
        guard principal == .admin else { throw Self.denied }
    }

    private static let denied = DocumentError(.permissionDenied, "Missing or insufficient permissions.")

    /// Binds a client's transactions to its user: tokens of other users can neither use nor end them. Clients without a
    /// token are distinguished by their addresses.
    private func context(_ principal: Principal) -> OperationContext { context(principal, of: ClientCall.current) }

    private func context(_ principal: Principal, of call: ClientCall?) -> OperationContext {
        var context = context(principal, at: call?.address)
        context.cancellation = call?.cancellation
        context.answer = call?.answer
        return context
    }

    /// The context of a stream's operations.
    ///
    /// - Parameter address: a number that stands for the client's address.
    func context(_ principal: Principal, at address: UInt64?) -> OperationContext {
        var context = OperationContext()
        if case .client(let client) = principal {
            context = OperationContext(
                owner: Self.owner(of: principal, at: address), policy: rules.policy(of: client, in: database),
                auth: client.map { EventAuth(.appUser, id: $0.uid) } ?? EventAuth(.unauthenticated))
        }
        context.retriesCommitsOnly = true
        return context
    }

    static func owner(of principal: Principal, at address: UInt64?) -> UInt64 {
        switch principal {
        case .admin: 0
        case .client(let client):
            (client.map { UInt64(truncatingIfNeeded: $0.uid.hashValue) } ?? address ?? 0) | 1 << 63
        }
    }
}
