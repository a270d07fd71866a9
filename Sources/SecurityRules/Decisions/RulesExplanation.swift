package import DocumentModel
import Synchronization

/// Decides an operation and keeps the decision with the values of all expressions. It refuses whatever the rules decide, so
/// that nothing is read or written.
package final class RulesExplanation: AccessPolicy {
    private let ruleset: Ruleset
    private let auth: RuleValue
    private let database: DatabaseID
    private let kept = Mutex<RulesDecision?>(nil)

    package init(_ ruleset: Ruleset, of client: ClientIdentity?, in database: DatabaseID) {
        self.ruleset = ruleset
        self.database = database
        auth = RulesRequest.auth(client)
    }

    /// The last decision; nil if there was none, because the operation failed before.
    package var decision: RulesDecision? { kept.withLock { $0 } }

    package func check(_ access: Access, in view: AccessView) throws {
        let request = RulesRequest(access, auth: auth, in: database.database, at: view.time)
        let documents = RulesDocuments(
            before: { try view.document($0) }, after: { try view.documentAfter($0) }, named: { try view.named($0) },
            isWritten: view.isWritten)
        let decision = try ruleset.decide(request, documents, isTraced: true)
        kept.withLock { $0 = decision }
        throw DocumentError(.permissionDenied, "the operation was explained, not performed")
    }
}
