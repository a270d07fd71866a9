import ControlProtocol
import DocumentModel
package import Hummingbird
package import RealtimeAPI
import RealtimeModel
import SecurityRules
import StrictJSON

/// The commands `rules explain` and `rules coverage` for a Realtime Database of the running host.
package struct DatabaseRulesTopic: ControlTopic {
    private let databases: StoreRealtimeService

    package init(_ databases: StoreRealtimeService) { self.databases = databases }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answerWithFiles("database-rules/explain") { try await explain($0) }
        routes.answer("database-rules/coverage") { parameters in
            let name = try parameters.required("database")
            guard let coverage = databases.coverage(of: name) else {
                throw DocumentError.invalidArgument(
                    "the database \(name) has no rules, or the host doesn't count in production")
            }
            return RulesCoverageReport(
                statements: coverage.statements.map {
                    .init(
                        line: $0.position.line, column: $0.position.column, allowed: $0.allowed, refused: $0.refused)
                }, missingIndexes: databases.missingIndexes(of: name))
        }
    }

    private func explain(_ parameters: ControlParameters) async throws -> RulesReport {
        let name = try parameters.required("database")
        let rules: DatabaseRules
        if let text = parameters["rules"] {
            do { rules = try DatabaseRules(text) } catch { throw DocumentError.invalidArgument("\(error)") }
        } else {
            guard let current = databases.rules(of: name) else {
                throw DocumentError.invalidArgument("the database \(name) has no rules; name a file with --rules")
            }
            rules = current
        }
        do {
            let decision = try await databases.explain(
                try operation(parameters), in: name, by: rules, as: .client(try auth(parameters)))
            return report(decision)
        } catch let error as RealtimeServiceError {
            throw DocumentError.invalidArgument(error.message)
        } catch let error as RealtimeError {
            throw DocumentError.invalidArgument("\(error)")
        } catch let error as RealtimeQueryError {
            throw DocumentError.invalidArgument("--query: \(error)")
        }
    }

    private func operation(_ parameters: ControlParameters) throws -> RealtimeOperation {
        let path = try parameters.required("path")
        switch try parameters.required("method") {
        case "get", "list", "read":
            var query: RealtimeQuery?
            if let text = parameters["query"] {
                guard let message = try? JSONValue(parsing: Array(text.utf8)) else {
                    throw DocumentError.invalidArgument("--query is not JSON")
                }
                query = try RealtimeQuery(message: message)
            }
            return .read(try RealtimePath(path), query)
        case "write":
            guard let text = parameters["written"] else {
                throw DocumentError.invalidArgument("give the value to be written: --written '{\"name\":\"Ada\"}'")
            }
            let target = try RealtimeTarget(path)
            return .write(.set(target, try RealtimeWriteValue(parsing: Array(text.utf8), at: target)))
        case "update":
            guard let text = parameters["written"] else {
                throw DocumentError.invalidArgument("give the values to be written: --written '{\"a/b\":1,\"c\":null}'")
            }
            return .write(.update(try RealtimeUpdate(parsing: Array(text.utf8), at: try RealtimePath(path))))
        case "delete":
            return .write(.set(try RealtimeTarget(path), RealtimeWriteValue(nil)))
        case let method:
            throw DocumentError.invalidArgument(
                "\"\(method)\" is not an operation; write read, write, update or delete")
        }
    }

    private func auth(_ parameters: ControlParameters) throws -> RealtimeAuth? {
        guard let uid = parameters["uid"] else { return nil }
        guard let claims = try? JSONValue(parsing: Array((parameters["claims"] ?? "{}").utf8)),
            var token = claims.objectValue
        else { throw DocumentError.invalidArgument("--claims is not a JSON object") }
        // As ID tokens have them.
        for name in ["sub", "user_id"] where token[name] == nil { token[name] = .string(uid) }
        return RealtimeAuth(uid: uid, claims: .object(token))
    }

    private func report(_ decision: DatabaseRulesDecision) -> RulesReport {
        func statement(_ step: DatabaseRulesDecision.Step) -> RulesReport.Statement {
            var reason = step.path.map { "\(step.kind.rawValue) of \($0)" } ?? step.kind.rawValue
            if case .error(let error, let position) = step.outcome { reason += ": \(position): \(error)" }
            return .init(line: step.position.line, column: step.position.column, reason: reason)
        }
        return RulesReport(
            isAllowed: decision.isAllowed, allow: decision.isAllowed ? decision.grants.first.map(statement) : nil,
            refusals: decision.isAllowed ? [] : decision.refusals.map(statement),
            values: decision.trace.map {
                .init(line: $0.position.line, column: $0.position.column, expression: $0.expression, value: $0.value)
            })
    }
}
