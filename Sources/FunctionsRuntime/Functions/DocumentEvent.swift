public import DocumentModel

/// Something that happened to a document.
///
/// - Parameter Payload: the document created or deleted, or the ``Change`` of one updated or written.
public struct DocumentEvent<Payload: Sendable>: Sendable {
    /// The same over all tries of one event, and unique for the function.
    public let id: String
    /// When the change was committed.
    public let time: Timestamp
    /// The document, relative to its database: `users/ada/orders/o1`.
    public let document: String
    /// What the pattern's wildcards stand for, by name.
    public let params: [String: String]
    public let data: Payload
    /// Who made the change.
    public let authType: AuthType
    /// The user's id, where a user made the change.
    public let authID: String?
    /// The documents, as admin.
    public let firestore: Firestore

    /// Who made a change, as CloudEvents' `authtype` names it.
    public enum AuthType: String, Sendable, Hashable {
        case serviceAccount = "service_account"
        case apiKey = "api_key"
        case system
        case unauthenticated
        case unknown
        case appUser = "app_user"
    }

    package init(
        id: String, time: Timestamp, document: String, params: [String: String], data: Payload, authType: AuthType,
        authID: String?, firestore: Firestore
    ) {
        self.id = id
        self.time = time
        self.document = document
        self.params = params
        self.data = data
        self.authType = authType
        self.authID = authID
        self.firestore = firestore
    }

    func mapped<Other>(_ data: Other) -> DocumentEvent<Other> {
        DocumentEvent<Other>(
            id: id, time: time, document: document, params: params, data: data,
            authType: .init(rawValue: authType.rawValue) ?? .unknown, authID: authID, firestore: firestore)
    }
}

/// A document before and after a change. Before a creation, and after a deletion, the snapshot doesn't exist.
public struct Change: Sendable {
    public let before: DocumentSnapshot
    public let after: DocumentSnapshot

    public init(before: DocumentSnapshot, after: DocumentSnapshot) {
        self.before = before
        self.after = after
    }
}

/// A document trigger's handler, from the change whole.
package enum DocumentHandler: Sendable {
    case plain(@Sendable (DocumentEvent<Change>) async throws -> Void)
    case transactional(@Sendable (DocumentEvent<Change>, Transaction) async throws -> Void)

    /// Runs the handler; a transactional one in a transaction of its own.
    package func run(_ event: DocumentEvent<Change>, transport: any DocumentTransport) async throws {
        switch self {
        case .plain(let handler):
            try await handler(event)
        case .transactional(let handler):
            _ = try await TransactionRunner(transport: transport).run(
                completing: { _ in [] }, { transaction in try await handler(event, transaction) })
        }
    }
}
