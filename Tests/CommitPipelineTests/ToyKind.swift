import CommitPipeline
import DocumentModel
import StorageEngine

/// A second kind of data, as small as one can be: counters, kept among the metadata.
final class Counters: DataKind, @unchecked Sendable {
    static let id: UInt8 = 1

    // Used on the writer's thread.
    private var values: [String: UInt8] = [:]
    private var durable: [String: UInt8] = [:]
    /// What the kind was notified of, in order.
    private(set) var notifications: [String] = []

    init(_ storage: any StorageReader) throws {
        try storage.scan(.meta, KeyRange(prefix: Self.key("")), reverse: false) { key, value in
            values[String(decoding: key.dropFirst(8), as: UTF8.self)] = value[0]
            return true
        }
        durable = values
    }

    static func key(_ name: String) -> [UInt8] { Array(("counter/" + name).utf8) }

    func value(_ name: String) -> UInt8 { values[name] ?? 0 }

    func set(_ name: String, to value: UInt8) { values[name] = value }

    func committed(_ version: Int64?) {
        durable = values
        notifications.append("committed")
    }

    func rollBack(to version: Int64, _ error: DocumentError) {
        values = durable
        notifications.append("rolled back")
    }
}

/// Counts one up, to 3 at most, and has a function receive each event.
final class CountUp: CommitPart {
    private let name: String
    private let counters: Counters
    private var next: UInt8 = 0

    init(_ name: String, _ counters: Counters) {
        self.name = name
        self.counters = counters
    }

    func prepare(_ commit: Commit, version: Int64, in batch: CommitBatch) throws {
        next = counters.value(name) + 1
        guard next <= 3 else { throw DocumentError(.failedPrecondition, "\(name) is full") }
    }

    func apply(version: Int64, to batch: CommitBatch) throws {
        try batch.storage.put(.meta, Counters.key(name), [next])
        batch.versions.claim(version)
        counters.set(name, to: next)
    }

    func events(by routes: EventRoutes) -> [CausedEvent] {
        [CausedEvent(.custom(CloudEvent(type: "counted", source: "/\(name)")), for: [.init(function: "audit")])]
    }
}
