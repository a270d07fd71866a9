import DocumentModel

/// Goes along the nodes of the rules for the locations of one request, and evaluates the rules there.
struct DatabaseRulesWalk {
    typealias Stop = DatabaseEvaluator.Stop

    /// A rule that was evaluated.
    struct Tried {
        enum Outcome {
            case holds, fails
            case wrong(String, Int)
        }

        var rule: Int
        /// The location: the first segments of a path. Nil if it isn't kept.
        var path: [String]?
        var depth: Int
        var outcome: Outcome
    }

    /// What evaluating a rule costs besides its expression: going to its node, and remembering it.
    private static let ruleCost = 4

    private let rules: DatabaseRules
    var evaluator: DatabaseEvaluator
    private(set) var tried: [Tried] = []
    /// The nodes along the path, from the root on; fewer than its segments if the rules end before.
    private var along: [Int] = []
    /// Of the location before: its path, up to which depth it was granted, and how deep it was validated.
    private var last: (path: [String], granted: Int, validated: Int)?

    init(_ rules: DatabaseRules, _ evaluator: DatabaseEvaluator) {
        self.rules = rules
        self.evaluator = evaluator
    }

    mutating func isReadable(_ path: [String]) throws(Stop) -> Bool {
        evaluator.path = path
        var node: Int? = 0
        var depth = 0
        while let index = node {
            if let rule = rules.nodes[index].read, try holds(rule, depth) { return true }
            node = depth < path.count ? rules.child(of: rules.nodes[index], path[depth]) : nil
            depth += 1
        }
        return false
    }

    mutating func isWritable(_ path: [String]) throws(Stop) -> Bool {
        evaluator.path = path
        try evaluator.spend(path.count + 1)
        along.removeAll(keepingCapacity: true)
        along.append(0)
        while along.count <= path.count,
            let next = rules.child(of: rules.nodes[along[along.count - 1]], path[along.count - 1])
        {
            along.append(next)
        }
        // What holds above the common part of two locations holds for both.
        let common = last.map { zip($0.path, path).prefix { TextBytes.equal($0, $1) }.count } ?? -1
        var granted = last.flatMap { $0.granted <= common ? $0.granted : nil }
        if granted == nil {
            for (depth, node) in along.enumerated() {
                if let rule = rules.nodes[node].write, try holds(rule, depth) {
                    granted = depth
                    break
                }
            }
        }
        guard let granted else { return false }
        evaluator.depth = path.count
        guard try evaluator.isWritten() else {
            last = (path, granted, min(last?.validated ?? -1, common))
            return true
        }
        let validated = min(last?.validated ?? -1, common)
        for (depth, node) in along.enumerated().dropFirst(validated + 1) {
            if let rule = rules.nodes[node].validate, try !holds(rule, depth) { return false }
        }
        last = (path, granted, path.count)
        return along.count <= path.count ? true : try isValidBelow(along[path.count])
    }

    /// Validates what is below the current location. Recurses as deep as the rules' nodes are.
    private mutating func isValidBelow(_ index: Int) throws(Stop) -> Bool {
        let node = rules.nodes[index]
        guard node.validatesBelow else { return true }
        let depth = evaluator.path.count
        if let wildcard = node.wildcard, isValidated(wildcard) {
            evaluator.depth = depth
            for name in try evaluator.writtenChildren() {
                let child = node.children.index(of: name) ?? wildcard
                guard isValidated(child) else { continue }
                evaluator.path.append(name)
                guard try isValid(child) else { return false }
                evaluator.path.removeLast()
            }
        } else {
            for (name, child) in node.children.all where isValidated(child) {
                evaluator.path.append(name)
                evaluator.depth = depth + 1
                if try evaluator.isWritten() { guard try isValid(child) else { return false } }
                evaluator.path.removeLast()
            }
        }
        return true
    }

    private func isValidated(_ node: Int) -> Bool {
        rules.nodes[node].validate != nil || rules.nodes[node].validatesBelow
    }

    private mutating func isValid(_ node: Int) throws(Stop) -> Bool {
        if let rule = rules.nodes[node].validate, try !holds(rule, evaluator.path.count) { return false }
        return try isValidBelow(node)
    }

    /// - Parameter depth: that of the rule's location on the current path.
    private mutating func holds(_ index: Int, _ depth: Int) throws(Stop) -> Bool {
        let rule = rules.rules[index]
        try evaluator.spend(Self.ruleCost)
        if let literal = rule.literal {
            note(index, depth, literal ? .holds : .fails)
            return literal
        }
        evaluator.depth = depth
        evaluator.records?.rule = index
        do throws(Stop) {
            let holds = try evaluator.holds(rule.code.lowerBound)
            note(index, depth, holds ? .holds : .fails)
            return holds
        } catch {
            guard case .wrong(let reason, let place) = error else { throw error }
            note(index, depth, .wrong(reason, place))
            return false
        }
    }

    private mutating func note(_ rule: Int, _ depth: Int, _ outcome: Tried.Outcome) {
        // There may be very many validations that hold: their paths are kept only if details were asked for.
        var path: [String]? = evaluator.path
        if case .holds = outcome, evaluator.records == nil, rules.rules[rule].kind == .validate { path = nil }
        tried.append(Tried(rule: rule, path: path, depth: depth, outcome: outcome))
    }
}
