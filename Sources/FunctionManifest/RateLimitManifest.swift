/// A limit on how often one user or address may call a function.
package struct RateLimitManifest: Codable, Hashable, Sendable {
    package var per: Subject
    /// The number of calls in ``seconds``; after an idle period all of them are available at once.
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
            problems.append("a rate limit allows \(count) calls; it must be 1 to 1000000")
        }
        if !Self.times.contains(seconds) {
            problems.append("a rate limit covers \(seconds) s; it must be 1 s to 1 day")
        }
        return problems
    }
}

extension FunctionManifest {
    var rateLimitProblems: [String] {
        guard !rateLimits.isEmpty else { return [] }
        switch trigger {
        case .callable, .http, .blocking: break
        case .document, .reference, .schedule, .task, .event:
            return ["\(trigger.kindName) has no callers, so it can't have a rate limit"]
        }
        var problems = rateLimits.flatMap(\.problems)
        if rateLimits.count > RateLimitManifest.maxLimits {
            problems.append("it has \(rateLimits.count) rate limits; the limit is \(RateLimitManifest.maxLimits)")
        }
        return problems
    }
}
