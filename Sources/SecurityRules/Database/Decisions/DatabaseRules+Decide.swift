package import StrictJSON

extension DatabaseRules {
    /// Decides whether a request is allowed.
    ///
    /// A read is allowed if one `.read` holds from the root to its location. A write is allowed if for each of its locations
    /// one `.write` holds from the root to it and, unless the location is deleted, each `.validate` holds from the root to it
    /// and at everything below it that there is after the write.
    ///
    /// - Parameters:
    ///   - before: the tree.
    ///   - after: the tree as the whole write would leave it, with resolved server values. Not needed for reads.
    ///   - maxCost: what the decision may cost, in units of about 50 ns; nil for the limit of rules alone. What would cost more
    ///     is denied.
    /// - Throws: what `before` or `after` has thrown.
    package func decide(
        _ request: DatabaseRulesRequest, before: any DatabaseRulesData, after: (any DatabaseRulesData)? = nil,
        detail: DatabaseRulesDecision.Detail = .rules, maxCost: Int? = nil
    ) throws -> DatabaseRulesDecision {
        let maxWork = max(0, min(maxCost ?? .max, RulesLimits.work))
        var evaluator = DatabaseEvaluator(program, request, before, after ?? before, maxWork: maxWork)
        if detail != .rules { evaluator.records = DatabaseRecords(hasValues: detail == .values) }
        var walk = DatabaseRulesWalk(self, evaluator)
        var denied: [String]?
        var isTooCostly = false
        do throws(DatabaseEvaluator.Stop) {
            switch request.operation {
            case .read(let path, _): if try !walk.isReadable(path) { denied = path }
            case .write(let paths):
                for path in paths where try !walk.isWritable(path) {
                    denied = walk.evaluator.path
                    break
                }
            }
        } catch {
            switch error {
            case .store(let error): throw error
            default:
                denied = walk.evaluator.path
                isTooCostly = true
            }
        }
        return decision(&walk, denied, isTooCostly, maxWork)
    }

    /// Decides on a read without the tree.
    ///
    /// - Parameter maxCost: as for ``decide(_:before:after:detail:maxCost:)``.
    /// - Returns: nil if the decision reads a node.
    package func decideWithoutTree(
        _ request: DatabaseRulesRequest, detail: DatabaseRulesDecision.Detail = .rules, maxCost: Int? = nil
    ) -> DatabaseRulesDecision? {
        try? decide(request, before: UnknownTree(), detail: detail, maxCost: maxCost)
    }

    /// Decides on a write of a location without knowing what is written.
    ///
    /// - Parameters:
    ///   - before: the tree; nil to decide without it too.
    ///   - maxCost: as for ``decide(_:before:after:detail:maxCost:)``.
    /// - Returns: the refusal of a write that is denied whatever is written; nil if it may be allowed.
    /// - Throws: what `before` has thrown.
    package func refusal(
        ofWriteAt path: [String], auth: JSONValue, now: Int64, before: (any DatabaseRulesData)?,
        detail: DatabaseRulesDecision.Detail = .rules, maxCost: Int? = nil
    ) throws -> DatabaseRulesDecision? {
        let unknown = UnknownTree()
        do {
            let decision = try decide(
                .write([path], auth: auth, now: now), before: before ?? unknown, after: unknown, detail: detail,
                maxCost: maxCost)
            return decision.isAllowed ? nil : decision
        } catch is UnknownTree.IsRead {
            return nil
        }
    }

    private func decision(
        _ walk: inout DatabaseRulesWalk, _ denied: [String]?, _ isTooCostly: Bool, _ maxWork: Int
    ) -> DatabaseRulesDecision {
        let records = walk.evaluator.records
        let steps = walk.tried.map { tried in
            let rule = rules[tried.rule]
            let outcome: DatabaseRulesDecision.Step.Outcome =
                switch tried.outcome {
                case .holds: .holds
                case .fails: .fails
                case .wrong(let reason, let place):
                    .error(reason, at: position(of: place, in: rule))
                }
            return DatabaseRulesDecision.Step(
                kind: rule.kind, position: rule.position, outcome: outcome, rule: tried.rule, location: tried.path,
                depth: tried.depth)
        }
        let trace = (records?.values ?? []).map { value in
            let rule = rules[value.rule]
            let instruction = program.instructions[value.instruction]
            return RulesDecision.TracedValue(
                position: position(of: value.instruction, in: rule),
                expression: String(
                    decoding: rule.text.bytes[Int(instruction.start)..<Int(instruction.end)], as: UTF8.self),
                value: value.shown, isToken: value.isToken)
        }
        return DatabaseRulesDecision(
            isAllowed: denied == nil, steps: steps, deniedPath: denied.map { "/" + $0.joined(separator: "/") },
            reason: isTooCostly ? "the decision would cost more than its limit" : nil, trace: trace,
            cost: maxWork - walk.evaluator.work, isTooCostly: isTooCostly, outcomes: records?.outcomes ?? [])
    }

    /// Where an instruction's expression begins.
    func position(of instruction: Int, in rule: DatabaseRule) -> SourcePosition {
        source.position(of: rule.text.sourceOffset(of: Int(program.instructions[instruction].start)))
    }
}

/// A tree that isn't known. A decision that reads it ends.
private struct UnknownTree: DatabaseRulesData {
    struct IsRead: Error {}

    func value(at path: ArraySlice<String>) throws -> DatabaseRulesValue { throw IsRead() }
    func priority(at path: ArraySlice<String>) throws -> DatabaseRulesValue { throw IsRead() }
    func childNames(at path: ArraySlice<String>, limit: Int) throws -> [String] { throw IsRead() }
}
