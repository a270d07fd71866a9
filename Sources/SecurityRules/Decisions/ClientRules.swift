package import DocumentModel
import Synchronization

/// What clients may do. Rules can be replaced while they decide; an operation is decided by those of its beginning.
package final class ClientRules: Sendable {
    package enum State: Sendable {
        /// Clients may do everything, as on the official emulators without rules.
        case open
        /// Clients may do nothing.
        case closed
        case rules(Ruleset)
    }

    /// What was refused, for the log.
    package struct Refusal: Sendable {
        package let method: String
        /// The path of the document or collection.
        package let path: String
        package let uid: String?
        package let decision: RulesDecision
    }

    private let state: Mutex<State>
    private let explains: Bool
    private let onRefusal: (@Sendable (Refusal) -> Void)?

    /// - Parameters:
    ///   - explains: whether a refusal's error says why; it then reveals values of documents.
    ///   - onRefusal: called for each operation that rules refuse, on the store's threads: it must not block.
    package init(_ state: State, explains: Bool = false, onRefusal: (@Sendable (Refusal) -> Void)? = nil) {
        self.state = Mutex(state)
        self.explains = explains
        self.onRefusal = onRefusal
    }

    package var current: State { state.withLock { $0 } }

    package func replace(_ state: State) { self.state.withLock { $0 = state } }

    /// What decides one operation of a client: one request, with all documents that it reads or writes.
    ///
    /// - Parameter boundsDocuments: whether the documents are counted that rules read for all parts together. Not for a policy
    ///   that decides several operations.
    package func policy(
        of client: ClientIdentity?, in database: DatabaseID, boundsDocuments: Bool = true
    ) -> any AccessPolicy {
        RulesPolicy(
            state.withLock { $0 }, client, database.database, explains: explains, boundsDocuments: boundsDocuments,
            onRefusal)
    }
}

/// Decides the parts of one operation.
private final class RulesPolicy: AccessPolicy {
    private let state: ClientRules.State
    private let client: ClientIdentity?
    private let auth: RuleValue
    private let database: String
    private let explains: Bool
    private let onRefusal: (@Sendable (ClientRules.Refusal) -> Void)?
    /// The documents that rules have read for the operation.
    private let read = Mutex<(before: Set<DocumentPath>, after: Set<DocumentPath>)>(([], []))
    private let boundsDocuments: Bool

    init(
        _ state: ClientRules.State, _ client: ClientIdentity?, _ database: String, explains: Bool,
        boundsDocuments: Bool, _ onRefusal: (@Sendable (ClientRules.Refusal) -> Void)?
    ) {
        self.state = state
        self.client = client
        self.database = database
        self.explains = explains
        self.boundsDocuments = boundsDocuments
        self.onRefusal = onRefusal
        auth = if case .rules = state { RulesRequest.auth(client) } else { .null }
    }

    func check(_ access: Access, in view: AccessView) throws {
        switch state {
        case .open: return
        case .closed: throw Self.denied
        case .rules(let ruleset):
            let request = RulesRequest(access, auth: auth, in: database, at: view.time)
            let documents = RulesDocuments(
                before: { [self] path in
                    try count(path, isAfter: false)
                    return try view.document(path)
                },
                after: { [self] path in
                    // Another state of the document, and another read.
                    try count(path, isAfter: true)
                    return try view.documentAfter(path)
                })
            let decision = try ruleset.decide(request, documents)
            guard !decision.isAllowed else { return }
            onRefusal?(
                ClientRules.Refusal(
                    method: request.methodName, path: request.path.joined(separator: "/"), uid: client?.uid,
                    decision: decision))
            guard explains else { throw Self.denied }
            throw DocumentError(.permissionDenied, "\(Self.denied.message) \(decision.explanation)")
        }
    }

    private static let denied = DocumentError(.permissionDenied, "Missing or insufficient permissions.")

    private func count(_ path: DocumentPath, isAfter: Bool) throws {
        guard boundsDocuments else { return }
        let isTooMuch = read.withLock { read in
            if isAfter { read.after.insert(path) } else { read.before.insert(path) }
            return read.before.count + read.after.count > RulesLimits.documentsOfBatch
        }
        guard !isTooMuch else {
            throw DocumentError(
                .permissionDenied,
                "Missing or insufficient permissions. The rules read more than \(RulesLimits.documentsOfBatch) documents for "
                    + "one request.")
        }
    }
}
