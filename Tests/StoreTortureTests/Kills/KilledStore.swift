import DocumentModel
import DocumentStore
import Foundation
import StoreTorture
import TestSupport

/// Looks at what a killed process left.
struct KilledStore {
    let file: String
    var replay = HistoryReplay()

    mutating func examine(round: String, acknowledged: [DocumentPath: Timestamp]) async throws {
        let engine = try SQLiteEngine(file: file)
        let store = try DocumentStore(
            engine: engine, now: { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) })
        try store.start()
        let records = try await store.records(of: round)
        let times = Dictionary(uniqueKeysWithValues: records.map { ($0.path, $0.updateTime) })
        for (path, time) in acknowledged where times[path] != time {
            throw HistoryReplay.Anomaly(
                description: "\(path) was acknowledged at \(time) and is \(times[path]?.description ?? "missing")")
        }
        try replay.take(records)
        try replay.compare(try await store.workedOn())
        await store.shutdown()
        try engine.close()
    }
}
