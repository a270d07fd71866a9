import EmbeddedStorage
import StorageEngine
import DocumentModel
import DocumentStore
import Foundation
import StoreTorture
import TestSupport

/// Looks at what a killed process left, and knows what the earlier ones had left.
struct KilledStore {
    private let directory: String
    private let kind: EmbeddedEngineKind
    private(set) var replay = HistoryReplay()
    /// Up to where the feed was read.
    private var position: Timestamp

    /// Makes an empty store.
    init(_ kind: EmbeddedEngineKind, directory: String) async throws {
        self.kind = kind
        self.directory = directory
        let engine = try EmbeddedStore(in: directory, engine: kind).open()
        let store = try Self.start(engine)
        position = try await store.newestPosition()
        await store.shutdown()
        try engine.close()
    }

    /// - Throws: `HistoryReplay.Anomaly` where something is missing, half there or otherwise than it was made.
    mutating func examine(round: String, acknowledged: [DocumentPath: Timestamp]) async throws {
        let engine = try EmbeddedStore(in: directory, engine: kind).open()
        let store = try Self.start(engine)
        let records = try await store.records(of: round)
        let times = Dictionary(uniqueKeysWithValues: records.map { ($0.path, $0.updateTime) })
        for (path, time) in acknowledged where times[path] != time {
            throw HistoryReplay.Anomaly(
                description: "\(path) was acknowledged at \(time) and is \(times[path]?.description ?? "missing")")
        }
        let before = replay.state
        let feed = try await store.changes(after: position)
        try replay.take(records, feed: feed.0)
        try replay.compare(try await store.workedOn())
        try await listen(store, since: before)
        position = feed.1
        try await store.isSound()
        // Once more, with all indexes built.
        try replay.compare(try await store.workedOn())
        try await examineBackups(records)
        await store.shutdown()
        try engine.close()
    }

    /// Listeners from before the kill go on with exact differences.
    private func listen(_ store: DocumentStore, since before: ModelState) async throws {
        var model = StoreModel(at: position)
        model.become(before, at: position)
        let now = try await store.newestPosition()
        if now > position { model.become(replay.state, at: now) }
        var first = Query(collectionID: "accounts")
        first.orderBy = [Query.Order(Bookings.field("balance"), descending: true)]
        first.limit = 3
        for query in [Query(collectionID: "bookings", allDescendants: true), first] {
            let listener = try store.listen(to: .query(query), from: position)
            var followed = FollowedListener(
                target: .query(query), listener: listener, shown: ModelQuery(query).run(in: before), position: position)
            guard try await followed.follow(upTo: now, model) else {
                throw HistoryReplay.Anomaly(description: "a listener is to start over, from \(position)")
            }
        }
    }

    /// A copy that has its name is whole: it is the store at some time.
    private func examineBackups(_ records: [Document]) async throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        where name.hasPrefix("backup") && name.hasSuffix(".db") {
            let file = directory + "/" + name
            let engine = try EmbeddedStore.open(kind, at: file)
            let store = try Self.start(engine)
            let last = try await store.newestPosition()
            for record in records {
                let found = try await store.get([record.path]).documents
                guard found == [record.updateTime <= last ? record : nil] else {
                    throw HistoryReplay.Anomaly(description: "\(name), of \(last), has \(found), not \(record)")
                }
            }
            try await store.isSound()
            await store.shutdown()
            try engine.close()
            for suffix in ["", "-wal", "-shm"] { StoreFile.removeAll(file + suffix) }
        }
    }

    private static func start(_ engine: any StorageEngine) throws -> DocumentStore {
        let store = try DocumentStore(
            engine: engine, now: { Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) },
            elapsed: { .zero })
        try store.start()
        return store
    }
}
