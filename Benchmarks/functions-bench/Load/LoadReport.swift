/// The measurements of a load. Reports of several rounds can be added.
struct LoadReport: Sendable {
    /// Nanoseconds of each successful operation.
    private(set) var latencies: [Int64] = []
    private(set) var errors = 0
    private(set) var firstError: String?
    /// Elapsed seconds.
    var elapsed = 0.0
    /// CPU seconds of the server's processes.
    var cpu = 0.0

    var operations: Int { latencies.count }
    var perSecond: Double { elapsed > 0 ? Double(operations) / elapsed : 0 }
    /// CPU seconds of the server per operation.
    var cpuPerOperation: Double { operations > 0 ? cpu / Double(operations) : 0 }

    /// Records a successful operation.
    mutating func add(latency: Duration) {
        let (seconds, attoseconds) = latency.components
        latencies.append(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    mutating func add(_ record: LoadConnection.Record) {
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

    /// The latency in seconds that the given part of the operations didn't exceed.
    func percentile(_ part: Double) -> Double { Self.percentile(part, of: latencies.map { Double($0) / 1e9 }) }

    static func percentile(_ part: Double, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.indices.last else { return 0 }
        return sorted[min(last, Int(Double(sorted.count) * part))]
    }

    static func median(_ values: [Double]) -> Double { percentile(0.5, of: values) }
}
