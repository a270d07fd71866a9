package import DocumentModel
package import DocumentStore

/// The document store as the service behind the public APIs.
package struct StoreDocumentService: DocumentService {
    private let store: DocumentStore
    private let database: DatabaseID

    package init(_ store: DocumentStore, database: DatabaseID) {
        self.store = store
        self.database = database
    }

    package func perform(_ request: DocumentRequest, as principal: Principal) async -> DocumentResponse {
        // Unauthenticated clients can't begin transactions: they may neither read nor write, so one would only hold a
        // slot.
        if case .begin = request, principal == .client(nil) {
            return .failed(DocumentError(.permissionDenied, "Missing or insufficient permissions."))
        }
        if principal != .admin, request.requiresAdmin {
            return .failed(DocumentError(.permissionDenied, "Missing or insufficient permissions."))
        }
        return await store.perform(request, in: context(principal))
    }

    package func collectionIDs(below parent: DocumentPath?, as principal: Principal) async throws(DocumentError)
        -> [String]
    {
        guard principal == .admin else {
            throw DocumentError(.permissionDenied, "Missing or insufficient permissions.")
        }
        return try await withCheckedContinuation { continuation in
            store.listCollectionIDs(parent: parent) { continuation.resume(returning: $0) }
        }.get()
    }

    package func clear() async throws(DocumentError) {
        do { _ = try await store.clear() } catch {
            throw error as? DocumentError ?? DocumentError(.cancelled, "not all documents were deleted")
        }
    }

    /// Binds a client's transactions to its user: tokens of other users can neither use nor end them.
    private func context(_ principal: Principal) -> OperationContext {
        switch principal {
        case .admin: OperationContext()
        case .client(let client):
            OperationContext(
                owner: UInt64(truncatingIfNeeded: (client?.uid).hashValue) | 1 << 63,
                policy: ClientAccess(database: database, client: client),
                auth: client.map { EventAuth(.appUser, id: $0.uid) } ?? EventAuth(.unauthenticated))
        }
    }
}

extension DocumentRequest {
    /// Whether no rule can allow the request, because its response reveals documents that a client may not see.
    fileprivate var requiresAdmin: Bool {
        switch self {
        case .explain, .partition: true
        default: false
        }
    }
}
