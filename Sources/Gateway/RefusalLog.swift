package import WorkerProtocol
import NIOCore
import Workers

/// Whose request was refused.
package enum RefusedCaller: Hashable, Sendable {
    case address(IPAddress)
    /// A user's id.
    case user(String)
}

/// Bounds how many lines about refused requests are logged: some a minute of each kind and caller. Of the others it
/// keeps the number, for one line a minute.
struct RefusalLog {
    struct Subject: Hashable {
        var kind: String
        /// Nil for callers that aren't known, and for those that come when very many are known.
        var caller: RefusedCaller?
    }

    private struct Minute {
        let end: NIODeadline
        var lines = 0
        var leftOut = 0
    }

    static let linesPerMinute = 10
    static let maxSubjects = 1_000

    private var minutes: [Subject: Minute] = [:]

    /// Whether a line may be logged. Otherwise it is counted.
    mutating func admits(_ kind: String, of caller: RefusedCaller?, now: NIODeadline) -> Bool {
        var subject = Subject(kind: kind, caller: caller)
        if minutes[subject] == nil, minutes.count >= Self.maxSubjects { subject.caller = nil }
        var minute = minutes[subject] ?? Minute(end: now + .minutes(1))
        let isAdmitted = minute.lines < Self.linesPerMinute
        if isAdmitted { minute.lines += 1 } else { minute.leftOut += 1 }
        minutes[subject] = minute
        return isAdmitted
    }

    /// Removes the minutes that are over.
    ///
    /// - Returns: how many lines of which kind were left out.
    mutating func takeLeftOut(now: NIODeadline) -> [(subject: Subject, count: Int)] {
        let over = minutes.filter { $0.value.end <= now }
        for subject in over.keys { minutes[subject] = nil }
        return over.filter { $0.value.leftOut > 0 }.map { ($0.key, $0.value.leftOut) }
    }
}
