import DocumentModel

extension Ruleset {
    /// Decides whether a request is allowed: if the condition of one `allow` holds for it.
    ///
    /// A list is allowed only if that is so for every document that the query could return, whichever there are. Where the
    /// query names a document, that is the only one: what the query doesn't say of it is looked up, as the official
    /// emulator does.
    ///
    /// - Parameters:
    ///   - documents: what `get`, `exists` and the like read.
    ///   - isTraced: whether the decision has the values of all expressions.
    ///   - maxCost: what the decision may cost; nil for the limits of rules alone. A decision that has cost more is wrong.
    /// - Throws: what `documents` has thrown, unless another `allow` allows the request.
    package func decide(
        _ request: RulesRequest, _ documents: RulesDocuments, isTraced: Bool = false, maxCost: Int? = nil
    ) throws -> RulesDecision {
        var evaluator = Evaluator(program, request, documents, maxWork: min(maxCost ?? .max, RulesLimits.work))
        if isTraced { evaluator.trace = [] }
        guard let query = request.query, request.resource == nil else {
            return try decide(&evaluator, Self.path(of: request))
        }
        var last: RulesDecision?
        for facts in QueryFacts.all(of: query) {
            evaluator.facts = facts
            let path = Self.path(of: query, facts, request)
            var decision = try decide(&evaluator, path)
            if !decision.isAllowed, evaluator.work > 0, let name = facts.name,
                let document = try documents.named(name.path)
            {
                evaluator.look(at: document)
                decision = try decide(&evaluator, path)
            }
            guard decision.isAllowed else { return decision }
            last = decision
        }
        return last ?? RulesDecision(allow: nil, refusals: [], trace: [], cost: evaluator.cost, isComplete: true)
    }

    /// A segment of the path of a document, or what isn't known of it.
    enum PathPart {
        case known(String)
        /// One segment.
        case one
        /// Any number of segments, also none.
        case any

        var isAny: Bool { if case .any = self { true } else { false } }
    }

    private static func path(of request: RulesRequest) -> [PathPart] {
        var parts: [PathPart] = []
        parts.reserveCapacity(3 + request.path.count)
        parts.append(.known("databases"))
        parts.append(.known(request.database))
        parts.append(.known("documents"))
        if request.query != nil, let document = request.resource {
            for segment in document.path.segments { parts.append(.known(String(segment))) }
        } else {
            for segment in request.path { parts.append(.known(segment)) }
        }
        return parts
    }

    private static func path(of query: Query, _ facts: QueryFacts, _ request: RulesRequest) -> [PathPart] {
        if let name = facts.name {
            return ["databases", request.database, "documents"].map { .known($0) }
                + name.path.segments.map { .known(String($0)) }
        }
        guard query.allDescendants else { return request.fullPath.map { .known($0) } + [.one] }
        // A collection group: the parent's path, whatever is below it, and the collection.
        return request.fullPath.dropLast().map { .known($0) } + [.any, .known(query.collectionID), .one]
    }

    /// The segments of the longest path that a document can be written at, from the root on.
    private static let maxSegments = 3 + 2 * DocumentLimits.maxNestedCollections

    /// Whether a path leads through more collections than that of any document. What a `**` captures is made for each
    /// segment at which it may end, so that a path of some thousand segments would take tens of milliseconds.
    private static func isTooDeep(_ request: RulesRequest, _ facts: QueryFacts?) -> Bool {
        // Earlier versions stored such documents. Each can be deleted.
        if request.method == .delete, request.resource != nil { return false }
        // A query's path ends with its collection.
        let segments = request.path.count - (request.query == nil ? 0 : 1)
        let named = facts?.name.map { 2 * $0.path.nestedCollections } ?? 0
        return max(segments, named) > 2 * DocumentLimits.maxNestedCollections
    }

    private func decide(_ evaluator: inout Evaluator, _ path: [PathPart]) throws -> RulesDecision {
        guard !Self.isTooDeep(evaluator.request, evaluator.facts) else {
            let refusal = RulesDecision.Refusal(
                allow: nil, position: source.position(of: 0),
                reason: "the path has more than \(DocumentLimits.maxNestedCollections) collections within each other")
            return decision(nil, [], refusal, evaluator)
        }
        var tried: [(allow: Int, value: RuleValue)] = []
        var exceeded: RulesDecision.Refusal?
        var attempts = 0
        var pending = roots.reversed().map { (block: $0, place: 0, captures: [RuleValue]()) }
        while let (index, place, captures) = pending.popLast() {
            attempts += 1
            guard attempts <= RulesLimits.matches else {
                exceeded = RulesDecision.Refusal(
                    allow: nil, position: source.position(of: matches[index].range.start),
                    reason: "more than \(RulesLimits.matches) ways fit the path, the limit")
                break
            }
            let block = matches[index]
            if path.count > Self.maxSegments, block.hasGlob, !block.children.isEmpty {
                let cost = (path.count - place) * (path.count - place)
                guard cost <= evaluator.work else {
                    // The decision has cost more than it may.
                    evaluator.work = -1
                    exceeded = RulesDecision.Refusal(
                        allow: nil, position: source.position(of: matches[index].range.start),
                        reason: "the path is too long for the blocks within this one")
                    break
                }
                evaluator.work -= cost
            }
            for (end, captures) in fits(block, path, place, captures) {
                if end == path.count {
                    for allow in block.allows where allows[allow].methods.contains(evaluator.request.method) {
                        let statement = allows[allow]
                        evaluator.captures = captures
                        let value = statement.condition.map { evaluator.value(of: $0) } ?? .bool(true)
                        if case .bool(true) = value { return decision(allow, tried, exceeded, evaluator) }
                        tried.append((allow, value))
                    }
                }
                for child in block.children.reversed() { pending.append((child, end, captures)) }
            }
        }
        if let failure = evaluator.reads.failure { throw failure }
        return decision(nil, tried, exceeded, evaluator)
    }

    private func reason(of value: RuleValue, _ evaluator: Evaluator) -> String? {
        switch value {
        case .bool: nil
        case .unknown: "it isn't known for every document that the query could return"
        case .error(let index):
            "\(source.position(of: program.ranges[evaluator.errors[Int(index)].instruction].start)): "
                + evaluator.errors[Int(index)].reason
        default: "the condition is of type \(value.type), not bool"
        }
    }

    private func decision(
        _ allow: Int?, _ tried: [(allow: Int, value: RuleValue)], _ exceeded: RulesDecision.Refusal?,
        _ evaluator: Evaluator
    ) -> RulesDecision {
        // Of an allowed request, reasons are shown in explanations only.
        let hasReasons = allow == nil || evaluator.trace != nil
        let refusals = tried.map { allow, value in
            RulesDecision.Refusal(
                allow: allow, position: allows[allow].position, reason: hasReasons ? reason(of: value, evaluator) : nil)
        }
        return RulesDecision(
            allow: allow, refusals: refusals + [exceeded].compactMap(\.self),
            trace: (evaluator.trace ?? []).map { place, value in
                let range = program.ranges[place]
                let shown: String =
                    if case .error(let index) = value { "error: " + evaluator.errors[Int(index)].reason } else {
                        value.description
                    }
                return .init(
                    position: source.position(of: range.start), expression: source.text(range), value: shown,
                    isToken: evaluator.isToken(value))
            }, cost: evaluator.cost, isComplete: evaluator.reads.failure == nil)
    }

    // MARK: Paths

    /// The ways in which a block's path fits from a place on: where the rest of the path begins, and what is captured.
    private func fits(
        _ block: MatchBlock, _ path: [PathPart], _ start: Int, _ captures: [RuleValue]
    ) -> [(end: Int, captures: [RuleValue])] {
        if !block.hasGlob, !path[start...].contains(where: \.isAny) {
            guard block.segments.count <= path.count - start else { return [] }
            return fit(block, path, start, captures).map { [(start + block.segments.count, $0)] } ?? []
        }
        var ways = [(end: start, captures: captures)]
        for (offset, segment) in block.segments.enumerated() {
            var next: [(end: Int, captures: [RuleValue])] = []
            for way in ways {
                let part = way.end < path.count ? path[way.end] : nil
                switch (segment, part) {
                case (.literal(let text), .known(let known)?) where TextBytes.equal(text, known):
                    next.append((way.end + 1, way.captures))
                case (.single, .known(let known)?): next.append((way.end + 1, way.captures + [.string(known)]))
                case (.single, .one?): next.append((way.end + 1, way.captures + [.unknown(.other)]))
                case (.glob, _):
                    // In version 1 at least one segment; what may stand for none doesn't count.
                    var missing = version == 1 ? 1 : 0
                    // What follows the glob must reach the end of the path, so that blocks within this one never fit,
                    // as on the official emulator. One that ends with its glob and has blocks within may end anywhere;
                    // but in version 1 a glob takes the whole rest.
                    let following = block.segments.count - 1 - offset
                    let isWhole = following > 0 || version == 1 || block.children.isEmpty
                    let only = isWhole ? path.count - following : nil
                    for end in way.end...path.count {
                        if end > way.end, missing > 0 { if case .any = path[end - 1] {} else { missing -= 1 } }
                        guard missing == 0, only == nil || end == only else { continue }
                        next.append((end, way.captures + [Self.captured(path[way.end..<end])]))
                    }
                default: break
                }
            }
            ways = next
        }
        return ways
    }

    /// What is captured where each segment of a block stands for exactly one of the path; nil if the block doesn't fit.
    private func fit(
        _ block: MatchBlock, _ path: [PathPart], _ start: Int, _ captures: [RuleValue]
    ) -> [RuleValue]? {
        var captures = captures
        for (offset, segment) in block.segments.enumerated() {
            switch (segment, path[start + offset]) {
            case (.literal(let text), .known(let known)) where TextBytes.equal(text, known): break
            case (.single, .known(let known)): captures.append(.string(known))
            case (.single, .one): captures.append(.unknown(.other))
            default: return nil
            }
        }
        return captures
    }

    private static func captured(_ parts: ArraySlice<PathPart>) -> RuleValue {
        var segments: [String] = []
        for part in parts {
            guard case .known(let segment) = part else { return .unknown(.path) }
            segments.append(segment)
        }
        return .path(segments)
    }
}
