import DocumentModel
import DocumentStore

/// Runs concurrent callers in this process, each of which sends one request after the other to a store.
enum StoreLoad {
    /// - Parameter operation: performs one operation, given the caller's number and how many it has performed before.
    static func run(
        _ callers: Int, for length: Load.Length, _ operation: @escaping @Sendable (Int, Int) async throws -> Void
    ) async throws -> LoadReport {
        _ = try await run(callers, for: length.warmUp, from: 0, operation)
        return try await run(callers, for: length.measured, from: 1 << 20, operation)
    }

    private static func run(
        _ callers: Int, for length: Duration, from first: Int,
        _ operation: @escaping @Sendable (Int, Int) async throws -> Void
    ) async throws -> LoadReport {
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
        return try await withThrowingTaskGroup(of: LoadReport.self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var report = LoadReport()
                    var (now, count) = (start, first)
                    while now < start + length {
                        try await operation(caller, count)
                        count += 1
                        let end = ContinuousClock.now
                        report.add(latency: end - now)
                        now = end
                    }
                    return report
                }
            }
            var report = LoadReport()
            for try await part in group { report.add(part) }
            report.elapsed = (ContinuousClock.now - start).seconds
            report.cpu = OwnProcess.cpuSeconds() - cpu
            return report
        }
    }
}
