/// What a load measured; reports of several rounds add up.
struct LoadReport: Sendable {
    /// Nanoseconds of each operation that went well.
    private(set) var latencies: [Int64] = []
    private(set) var errors = 0
    private(set) var firstError: String?
    /// Seconds on the clock.
    var elapsed = 0.0
    /// Seconds of CPU of the server's processes.
    var cpu = 0.0

    var operations: Int { latencies.count }
    var perSecond: Double { elapsed > 0 ? Double(operations) / elapsed : 0 }
    /// Seconds of the server's CPU for each operation.
    var cpuPerOperation: Double { operations > 0 ? cpu / Double(operations) : 0 }

    /// Notes one operation that went well.
    mutating func add(latency: Duration) {
        let (seconds, attoseconds) = latency.components
        latencies.append(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    mutating func add(_ record: Lane.Record) {
        latencies += record.latencies
        errors += record.errors
        firstError = firstError ?? record.firstError
    }

    mutating func add(_ other: LoadReport) {
        latencies += other.latencies
        errors += other.errors
        firstError = firstError ?? other.firstError
        elapsed += other.elapsed
        cpu += other.cpu
    }

    /// Seconds below which that part of the operations stayed.
    func percentile(_ part: Double) -> Double { Self.percentile(part, of: latencies.map { Double($0) / 1e9 }) }

    static func percentile(_ part: Double, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return 0 }
        return sorted[min(last, Int(Double(sorted.count) * part))]
    }

    static func median(_ values: [Double]) -> Double { percentile(0.5, of: values) }
}
