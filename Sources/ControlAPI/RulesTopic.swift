import ControlProtocol
package import DocumentModel
package import DocumentStore
import FirestoreJSON
package import Hummingbird
package import SecurityRules
import StrictJSON

/// The commands `rules explain` and `rules coverage` on the running host.
package struct RulesTopic: ControlTopic {
    private let store: DocumentStore
    private let database: DatabaseID
    private let rules: ClientRules

    package init(_ store: DocumentStore, database: DatabaseID, rules: ClientRules) {
        self.store = store
        self.database = database
        self.rules = rules
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answerWithFiles("rules/explain") { try await explain($0) }
        routes.answer("rules/coverage") { _ in
            guard let coverage = rules.coverage else { throw DocumentError.invalidArgument("the host has no rules") }
            return RulesCoverageReport(
                statements: coverage.statements.map {
                    .init(
                        line: $0.position.line, column: $0.position.column, allowed: $0.allowed, refused: $0.refused)
                })
        }
    }

    private func explain(_ parameters: ControlParameters) async throws -> RulesReport {
        let ruleset: Ruleset
        if let text = parameters["rules"] {
            do { ruleset = try Ruleset(text) } catch { throw DocumentError.invalidArgument("\(error)") }
        } else {
            guard case .rules(let current) = rules.current else {
                throw DocumentError.invalidArgument("the host has no rules; name a file with --rules")
            }
            ruleset = current
        }
        let client = try parameters["uid"].map { ClientIdentity(uid: $0, claims: try claims(parameters)) }
        let explanation = RulesExplanation(ruleset, of: client, in: database)
        let context = OperationContext(policy: explanation)
        do {
            try await perform(
                try parameters.required("method"), try parameters.required("path"), parameters, in: context)
        } catch {
            // The operation is refused once it is explained; anything else happened before.
            guard explanation.decision != nil else { throw error }
        }
        guard let decision = explanation.decision else {
            throw DocumentError.invalidArgument("the operation asks nothing of the rules")
        }
        return report(decision, ruleset)
    }

    private func claims(_ parameters: ControlParameters) throws -> [String: Value] {
        do { return try Value.fields(json: Array((parameters["claims"] ?? "{}").utf8)) } catch {
            throw DocumentError.invalidArgument("--claims: \(error.message)")
        }
    }

    /// Asks the store for an operation, which the policy refuses.
    private func perform(
        _ method: String, _ path: String, _ parameters: ControlParameters, in context: OperationContext
    ) async throws {
        func fields() throws -> [String: Value] {
            guard let text = parameters["written"] else {
                throw DocumentError.invalidArgument("give the document to be written: --written '{\"name\":\"Ada\"}'")
            }
            do { return try Value.fields(json: Array(text.utf8)) } catch {
                throw DocumentError.invalidArgument("--written: \(error.message)")
            }
        }
        switch method {
        case "get": _ = try await store.get([DocumentPath(path)], .strong, in: context)
        case "list":
            let collection = try CollectionPath(path)
            var query = Query(parent: collection.parent, collectionID: collection.id)
            if let text = parameters["query"] {
                do {
                    query = try JSONNode(parsing: Array(text.utf8)).structuredQuery(parent: collection.parent)
                } catch {
                    throw DocumentError.invalidArgument("--query: \(error.message)")
                }
            }
            _ = try await store.query(query, .strong, in: context)
        case "create", "update", "write":
            let write = Write(path: try DocumentPath(path), operation: .set(try fields()))
            _ = try await store.commit([write], transaction: nil, in: context)
        case "delete":
            let write = Write(path: try DocumentPath(path), operation: .delete)
            _ = try await store.commit([write], transaction: nil, in: context)
        default:
            throw DocumentError.invalidArgument("\"\(method)\" is not an operation; write get, list, write or delete")
        }
    }

    private func report(_ decision: RulesDecision, _ ruleset: Ruleset) -> RulesReport {
        func statement(_ position: SourcePosition, _ reason: String?) -> RulesReport.Statement {
            .init(line: position.line, column: position.column, reason: reason)
        }
        return RulesReport(
            isAllowed: decision.isAllowed,
            allow: decision.allow.map { statement(ruleset.position(ofAllow: $0), nil) },
            refusals: decision.refusals.map { statement($0.position, $0.reason) },
            values: decision.trace.map {
                .init(line: $0.position.line, column: $0.position.column, expression: $0.expression, value: $0.value)
            })
    }
}
