import StorageEngine
import DocumentModel
import DocumentStore
import Foundation

/// Measures durable commits of one to many writers, beside the same rows written straight on SQLite.
struct GroupCommitBenchmark: Benchmark {
    static let name = "store"
    private static let writers = [1, 16, 64, 256]
    /// The documents that each writer changes by turns.
    private static let documentsEach = 4

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        let (setup, commits) = try await record(pace.count(40_000, quick: 10_000))
        let rows = commits.reduce(0) { $0 + $1.operations.count }
        var section = Section(
            "Group commit straight on the store, a document of 8 fields of which 2 change",
            notes: [
                "reference: plain SQLite with the same rows that our commits read and write, "
                    + "\(rows / commits.count) per commit, including indexes and change log,",
                "as many commits in a transaction as there are writers; one thread, which never waits",
                "both: WAL, synchronous = FULL, 16 MB of cache",
            ])
        var file = 0
        for writers in Self.writers {
            var (ours, theirs) = (LoadReport(), LoadReport())
            for _ in 0..<pace.rounds {
                file += 1
                ours.add(
                    try await commit(writers, directory.appendingPathComponent("store-\(file).sqlite"), pace.length))
                let plain = try PlainSQLite(file: directory.appendingPathComponent("plain-\(file).sqlite"))
                _ = try plain.replay(setup[...], width: setup.count)
                theirs.add(try plain.replay(commits.prefix(writers == 1 ? commits.count / 20 : .max), width: writers))
            }
            section.add(
                "\(writers) \(writers == 1 ? "writer" : "writers")", ours, beside: theirs, rate: .ratioAtLeast(0.5))
        }
        return section
    }

    private func commit(_ writers: Int, _ file: URL, _ length: Load.Length) async throws -> LoadReport {
        let engine = try MeasuredEngine.open(file.path)
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        try await Self.fill(store)
        let report = try await StoreLoad.run(writers, for: length) { writer, count in
            _ = try await store.commit([try Self.change(writer, count)])
        }
        await store.shutdown()
        try engine.close()
        return report
    }

    /// Records the engine's operations while a store is filled, and those of single commits afterwards.
    private func record(_ count: Int) async throws -> (setup: [CommitRecord], commits: [CommitRecord]) {
        let engine = RecordingEngine()
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        try await Self.fill(store)
        let setup = engine.takeRecords()
        let writers = Self.writers[Self.writers.count - 1]
        for index in 0..<count {
            // One at a time, so that each commit is its own batch.
            _ = try await store.commit([try Self.change(index % writers, index / writers)])
        }
        await store.shutdown()
        return (setup, engine.takeRecords())
    }

    private static func fill(_ store: DocumentStore) async throws {
        for writer in 0..<writers[writers.count - 1] {
            _ = try await store.commit(
                (0..<documentsEach).map {
                    Write(path: try path(writer, $0), operation: .set(fields(writer, count: -1)))
                })
        }
    }

    private static func change(_ writer: Int, _ count: Int) throws -> Write {
        Write(path: try path(writer, count % documentsEach), operation: .set(fields(writer, count: count)))
    }

    private static func path(_ writer: Int, _ number: Int) throws -> DocumentPath {
        try DocumentPath("products/product-\(writer)-\(number)")
    }

    /// A product like the shop's. Its stock and the time of its last change vary.
    private static func fields(_ writer: Int, count: Int) -> [String: Value] {
        let published = Int64(1_767_323_045_678_901)
        return [
            "name": .string("Cup \(writer)"), "desc": .string("Porcelain, 80 ml, for an espresso"),
            "price": .integer(1280), "stock": .integer(Int64(1_000_000 - count)),
            "imageURL": .string("https://shop.example/images/\(writer).jpg"),
            "publishedTime": .timestamp(Timestamp(microseconds: published)), "owner": .string("users/seller"),
            "changedTime": .timestamp(Timestamp(microseconds: published + Int64(count))),
        ]
    }
}
