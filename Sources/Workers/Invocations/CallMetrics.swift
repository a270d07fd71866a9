import DocumentModel
package import NIOCore
package import Sharing
import Synchronization

/// What is known of the calls of all functions since the host's start, across releases.
package final class CallMetrics: Sendable {
    private let functions = Mutex<[String: CallCounters]>([:])

    package init() {}

    package func counters(of function: String) -> CallCounters {
        functions.withLock { functions in
            if let counters = functions[function] { return counters }
            let counters = CallCounters()
            functions[function] = counters
            return counters
        }
    }

    /// The metrics in the Prometheus format.
    package var text: String {
        let all = functions.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value.counts) }
        var calls = MetricFamily(
            "functions_calls_total", "counter",
            "Calls, requests and event attempts that were answered or refused, by status.")
        for (function, counts) in all {
            for (status, count) in counts.statuses.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                calls.sample(["function": function, "status": "\(status)"], count)
            }
        }
        func times(_ name: String, _ help: String, _ histogram: (CallCounters.Counts) -> LatencyHistogram) -> String {
            var family = MetricFamily("functions_\(name)_seconds", "histogram", help)
            for (function, counts) in all where histogram(counts).count > 0 {
                family.samples(["function": function], histogram(counts))
            }
            return family.text
        }
        return calls.text + times("call", "Seconds from a call's admission to its answer.") { $0.duration }
            + times("call_wait", "Seconds from a call's admission to the start of its handler.") { $0.wait }
            + times("worker_start", "Seconds from the start of a process until it is ready.") { $0.start }
    }
}

/// What is known of one function's calls.
package final class CallCounters: Sendable {
    package struct Counts: Sendable {
        package fileprivate(set) var statuses: [CallRecord.Status: Int] = [:]
        package fileprivate(set) var duration = LatencyHistogram()
        package fileprivate(set) var wait = LatencyHistogram()
        package fileprivate(set) var start = LatencyHistogram()
        fileprivate var recent = RecentCalls()

        package var calls: Int { statuses.values.reduce(0, +) }
        package var failures: Int { statuses.reduce(0) { $0 + ($1.key.isFailure ? $1.value : 0) } }
    }

    private let state = Mutex(Counts())

    package var counts: Counts { state.withLock { $0 } }

    func add(_ record: CallRecord) {
        state.withLock { counts in
            counts.statuses[record.status, default: 0] += 1
            counts.duration.add(seconds: record.duration.seconds)
            if let wait = record.wait { counts.wait.add(seconds: wait.seconds) }
            counts.recent.add(at: record.ended)
        }
    }

    /// Counts a call that was refused before a handler could be started for it. It has no duration.
    func addRefusal(_ code: StatusCode, at time: NIODeadline) {
        state.withLock { counts in
            counts.statuses[.failed(code), default: 0] += 1
            counts.recent.add(at: time)
        }
    }

    func workerStarted(in time: TimeAmount) { state.withLock { $0.start.add(seconds: time.seconds) } }

    /// The number of calls in the minute before now.
    package func lastMinute(now: NIODeadline) -> Int { state.withLock { $0.recent.count(now: now) } }
}

/// The calls of the last minute, counted by second.
struct RecentCalls: Sendable {
    private var counts = [Int32](repeating: 0, count: 60)
    private var second: Int64 = 0

    mutating func add(at time: NIODeadline) {
        advance(to: time)
        counts[Int(second % 60)] &+= 1
    }

    mutating func count(now: NIODeadline) -> Int {
        advance(to: now)
        return counts.reduce(0) { $0 + Int($1) }
    }

    /// Loops' clocks may differ by a little: the past isn't corrected.
    private mutating func advance(to time: NIODeadline) {
        let now = Int64(time.uptimeNanoseconds / 1_000_000_000)
        guard now > second else { return }
        for passed in 1...min(60, now - second) { counts[Int((second + passed) % 60)] = 0 }
        second = now
    }
}

extension TimeAmount {
    fileprivate var seconds: Double { Double(nanoseconds) / 1e9 }
}
