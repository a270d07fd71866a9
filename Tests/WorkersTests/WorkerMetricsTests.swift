@testable import Workers
import Testing

struct WorkerMetricsTests {
    @Test func endsAreCountedByReasonAndMemoryIsAddedUp() {
        let metrics = WorkerMetrics()
        for pid: Int32 in 1...3 { metrics.began("a", pid: pid) }
        metrics.began("b", pid: 4)
        metrics.uses("a", pid: 1, memory: 100)
        metrics.uses("a", pid: 2, memory: 20)
        metrics.uses("a", pid: 3, memory: 3)
        metrics.ended("a", pid: 3, .memory(used: 300, limit: 200))
        metrics.ended("b", pid: 4, .idle)
        #expect(
            metrics.text == """
                # HELP functions_workers Processes that run the function.
                # TYPE functions_workers gauge
                functions_workers{function="a"} 2
                functions_workers{function="b"} 0
                # HELP functions_memory_bytes Memory that these processes have for themselves.
                # TYPE functions_memory_bytes gauge
                functions_memory_bytes{function="a"} 120
                functions_memory_bytes{function="b"} 0
                # HELP functions_worker_ends_total Processes that have ended, by why.
                # TYPE functions_worker_ends_total counter
                functions_worker_ends_total{function="a",end="memory"} 1
                functions_worker_ends_total{function="b",end="idle"} 1

                """)
    }
}
