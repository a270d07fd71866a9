package import CommitPipeline
package import DocumentModel
package import StorageEngine

/// A second kind of data, as small as one can be: counters, kept among the metadata. Their changes are logged.
package final class Counters: DataKind, @unchecked Sendable {
    package static let id: UInt8 = 1

    private struct State {
        var values: [String: UInt8] = [:]
        var generation: Int64
    }

    // Used on the writer's thread.
    private var state: State
    private var durable: State
    /// What the kind was notified of, in order.
    package private(set) var notifications: [String] = []

    package init(_ storage: any StorageReader) throws {
        let generations = try StoreVersion.readRow(storage).generations
        var state = State(generation: generations[Counters.self] ?? 0)
        try storage.scan(.meta, KeyRange(prefix: Self.key("")), reverse: false) { key, value in
            state.values[Self.name(key)] = value.first
            return true
        }
        self.state = state
        durable = state
    }

    package static func key(_ name: String) -> [UInt8] { Array(("counter/" + name).utf8) }

    private static func name(_ key: [UInt8]) -> String { String(decoding: key.dropFirst(8), as: UTF8.self) }

    fileprivate func value(_ name: String) -> UInt8? { state.values[name] }

    fileprivate func set(_ name: String, to value: UInt8) {
        state.values[name] = value
        state.generation += 1
    }

    /// Rises with each change, as if readers cached all counters.
    package var generation: Int64? { state.generation }

    /// - Returns: the number of counters.
    package func check(_ run: CheckRun) throws -> (any Sendable)? {
        var count = 0
        try run.storage.scan(.meta, KeyRange(prefix: Self.key("")), reverse: false) { key, value in
            count += 1
            if value.count != 1 { try run.note("the counter \(Self.name(key)) has \(value.count) bytes") }
            return true
        }
        return count
    }

    package func committed(_ version: Int64?) {
        durable = state
        notifications.append("committed")
    }

    package func rollBack(to version: Int64, _ error: DocumentError, isDamage: Bool) {
        state = durable
        notifications.append("rolled back")
    }
}

/// Counts one up, to 3 at most, and has a function receive each event.
package final class CountUp: CommitPart {
    private let name: String
    private let counters: Counters
    private var next: UInt8 = 0

    package init(_ name: String, _ counters: Counters) {
        self.name = name
        self.counters = counters
    }

    package func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {
        next = (counters.value(name) ?? 0) + 1
        guard next <= 3 else { throw DocumentError(.failedPrecondition, "\(name) is full") }
    }

    package func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
        try storage.put(.meta, Counters.key(name), [next])
        try batch.log(
            Array(name.utf8), of: Counters.self, before: counters.value(name).map { [$0] }, after: [next],
            version: version)
        batch.versions.claim(version)
        counters.set(name, to: next)
    }

    package func events(by routes: EventRoutes) -> [CausedEvent] {
        [CausedEvent(.custom(CloudEvent(type: "counted", source: "/\(name)")), for: [.init(function: "audit")])]
    }
}
