/// How often one user or one address may call a function.
package struct RateLimitManifest: Codable, Hashable, Sendable {
    package var per: Subject
    /// So many calls in ``seconds``, and at once after a quiet time.
    package var count: Int
    package var seconds: Int

    package init(per: Subject, count: Int, seconds: Int) {
        self.per = per
        self.count = count
        self.seconds = seconds
    }

    package enum Subject: String, Codable, Hashable, Sendable, CaseIterable {
        case user, address
    }

    package static let maxLimits = 10
    package static let counts = 1...1_000_000
    package static let times = 1...86_400
}

extension RateLimitManifest {
    var problems: [String] {
        var problems: [String] = []
        if !Self.counts.contains(count) {
            problems.append("a rate limit of \(count) calls is impossible; it is 1 to 1000000 calls")
        }
        if !Self.times.contains(seconds) {
            problems.append("a rate limit counts calls in \(seconds) s; it is 1 s to 1 day")
        }
        return problems
    }
}

extension FunctionManifest {
    var rateLimitProblems: [String] {
        guard !rateLimits.isEmpty else { return [] }
        switch trigger {
        case .callable, .http: break
        case .document, .schedule, .task, .event:
            return ["\(trigger.kindName) has no callers to bound by a rate limit"]
        }
        var problems = rateLimits.flatMap(\.problems)
        if rateLimits.count > RateLimitManifest.maxLimits {
            problems.append("it has \(rateLimits.count) rate limits; \(RateLimitManifest.maxLimits) are possible")
        }
        return problems
    }
}
