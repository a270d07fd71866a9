import Sharing
import Synchronization

/// How workers end and what they use, by function, across releases.
package final class WorkerMetrics: Sendable {
    private struct State {
        var ends: [String: [String: Int]] = [:]
        /// The last sampled bytes of each process.
        var memory: [String: [Int32: Int]] = [:]
    }

    private let state = Mutex(State())

    func began(_ function: String, pid: Int32) { state.withLock { $0.memory[function, default: [:]][pid] = 0 } }

    func uses(_ function: String, pid: Int32, memory: Int) {
        state.withLock { $0.memory[function]?[pid] = memory }
    }

    func ended(_ function: String, pid: Int32, _ end: WorkerEnd) {
        state.withLock {
            $0.memory[function]?[pid] = nil
            $0.ends[function, default: [:]][end.kind, default: 0] += 1
        }
    }

    /// The metrics in the Prometheus format.
    package var text: String {
        let (ends, memory) = state.withLock { ($0.ends, $0.memory) }
        let functions = memory.sorted { $0.key < $1.key }
        var workers = MetricFamily("functions_workers", "gauge", "Processes that run the function.")
        for (function, uses) in functions { workers.sample(["function": function], uses.count) }
        var bytes = MetricFamily(
            "functions_memory_bytes", "gauge", "Memory that these processes have for themselves.")
        for (function, uses) in functions { bytes.sample(["function": function], uses.values.reduce(0, +)) }
        var ended = MetricFamily("functions_worker_ends_total", "counter", "Processes that have ended, by why.")
        for (function, counts) in ends.sorted(by: { $0.key < $1.key }) {
            for (kind, count) in counts.sorted(by: { $0.key < $1.key }) {
                ended.sample(["function": function, "end": kind], count)
            }
        }
        return workers.text + bytes.text + ended.text
    }
}
