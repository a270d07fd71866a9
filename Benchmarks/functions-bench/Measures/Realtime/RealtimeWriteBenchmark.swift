import Foundation
import NIOCore
import RealtimeModel
import StorageEngine

/// Measures durable sets of a small value, over REST and straight on the store, beside the same rows written straight on
/// SQLite.
struct RealtimeWriteBenchmark: Benchmark {
    static let name = "database"
    private static let writers = [1, 64]
    /// The values that each writer sets by turns.
    private static let valuesEach = 4

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        let (setup, commits) = try await record(pace.count(64 * 600, quick: 64 * 150))
        let rows = commits.reduce(0) { $0 + $1.operations.count }
        var section = Section(
            "Realtime Database: sets of a small value",
            notes: [
                "reference: plain SQLite with the same rows that our commits read and write, "
                    + "\(rows / commits.count) per commit,",
                "as many commits in a transaction as there are writers, each row written once in it; one thread, "
                    + "which never waits",
                "over REST: PUT with keep-alive, on a host whose CPU is measured; then straight on the store",
            ])
        try await HostProcess.with([], in: folder("host", in: directory)) { host in
            for writers in Self.writers {
                try await measure(writers, host, setup, commits, in: directory, &section)
            }
        }
        return section
    }

    private func measure(
        _ writers: Int, _ host: HostProcess, _ setup: [CommitRecord], _ commits: [CommitRecord], in directory: URL,
        _ section: inout Section
    ) async throws {
        var (overREST, onStore, theirs) = (LoadReport(), LoadReport(), LoadReport())
        let groups = CommitRecord.groups(of: writers, in: writers == 1 ? Array(commits.prefix(3000)) : commits)
        for round in 0..<pace.rounds {
            overREST.add(try await put(writers, host))
            onStore.add(
                try await set(writers, directory.appendingPathComponent("store-\(writers)-\(round).sqlite")))
            let plain = try PlainSQLite(file: directory.appendingPathComponent("plain-\(writers)-\(round).sqlite"))
            _ = try plain.replay(setup[...], width: setup.count)
            theirs.add(try plain.replay(groups[...], width: 1).asGroups(of: writers))
        }
        let name = writers == 1 ? "1 writer" : "\(writers) writers"
        section.add("\(name) over REST", overREST, beside: theirs, rate: .ratioAtLeast(0.5))
        section.add("\(name) on the store", onStore, beside: theirs, rate: .ratioAtLeast(0.5))
    }

    // MARK: Loads

    private func put(_ writers: Int, _ host: HostProcess) async throws -> LoadReport {
        let rest = RealtimeREST(port: host.ports.database)
        let callers = (0..<writers).map { writer in
            RepeatingCaller(
                // The values differ from one turn to the next, so that each set changes something.
                (0..<Self.valuesEach * 5).map { turn in
                    rest.put(Self.path(writer, turn), "\(Self.value(turn))")
                })
        }
        return try await Load.run(callers, to: host.ports.database, for: pace.length, of: host.child.tree)
    }

    private func set(_ writers: Int, _ file: URL) async throws -> LoadReport {
        try await OpenedTree.with(try MeasuredEngine.open(file.path)) { tree in
            try await Self.fill(tree)
            return try await StoreLoad.run(writers, for: pace.length) { writer, count in
                try await tree.set(Self.path(writer, count), Self.leaf(count))
            }
        }
    }

    /// Records the engine's operations while a store is filled, and those of single commits afterwards.
    private func record(_ count: Int) async throws -> (setup: [CommitRecord], commits: [CommitRecord]) {
        let engine = RecordingEngine()
        return try await OpenedTree.with(engine) { tree in
            try await Self.fill(tree)
            let setup = engine.takeRecords()
            let writers = Self.writers[Self.writers.count - 1]
            for index in 0..<count {
                // One at a time, so that each commit is its own batch.
                try await tree.set(Self.path(index % writers, index / writers), Self.leaf(index / writers))
            }
            return (setup, engine.takeRecords())
        }
    }

    private static func fill(_ tree: OpenedTree) async throws {
        for writer in 0..<writers[writers.count - 1] {
            for number in 0..<valuesEach {
                try await tree.set(path(writer, number), .number(RealtimeNumber(Int64(-1))))
            }
        }
    }

    private static func path(_ writer: Int, _ turn: Int) -> String {
        "players/player-\(writer)/score-\(turn % valuesEach)"
    }

    private static func value(_ turn: Int) -> Int64 { Int64(1_000_000 + turn) }

    private static func leaf(_ turn: Int) -> RealtimeLeaf { .number(RealtimeNumber(value(turn))) }
}

extension CommitRecord {
    /// Joins commits, as if each group were written in one batch: what several of them write is written once.
    static func groups(of size: Int, in commits: [CommitRecord]) -> [CommitRecord] {
        guard size > 1 else { return commits }
        return stride(from: 0, to: commits.count, by: size).map { start in
            var seen: Set<[UInt8]> = []
            var group = CommitRecord()
            // The last write of a row is the one that stays.
            for operation in commits[start..<min(start + size, commits.count)].flatMap(\.operations).reversed() {
                if seen.insert(operation.identity).inserted { group.operations.append(operation) }
            }
            group.operations.reverse()
            return group
        }
    }
}

extension CommitRecord.Operation {
    /// Equal for reads of one row, and for writes of one row.
    fileprivate var identity: [UInt8] {
        switch self {
        case .get(let table, let key): [0, UInt8(table.rawValue)] + key
        case .put(let table, let key, _), .delete(let table, let key): [1, UInt8(table.rawValue)] + key
        }
    }
}

extension LoadReport {
    /// The report of operations that are groups of others, counted by those.
    fileprivate func asGroups(of size: Int) -> LoadReport {
        var report = LoadReport()
        for latency in latencies { for _ in 0..<size { report.add(latency: .nanoseconds(latency)) } }
        report.elapsed = elapsed
        report.cpu = cpu
        return report
    }
}
