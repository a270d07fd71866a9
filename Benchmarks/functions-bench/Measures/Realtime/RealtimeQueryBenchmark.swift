import Foundation
import NIOCore
import RealtimeModel
import RealtimeStore

/// Measures a query of 100 results by `.indexOn`, straight on the store and over REST, among a thousand to a million
/// children.
struct RealtimeQueryBenchmark: Benchmark {
    static let name = "database"
    private static let results = 100
    private static let batch = 1000

    var pace: Pace

    private var sizes: [Int] { [1000, pace.count(1_000_000, quick: 100_000)] }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Realtime Database: query of \(Self.results) results by .indexOn, SQLite engine, one client",
            notes: [
                "reference: the same among 1,000 children; each size in its own store and file",
                "in the store: the whole result as JSON; CPU is that of this process. Over REST: the host's",
            ])
        var trees: [OpenedTree] = []
        do {
            for size in sizes {
                let tree = try OpenedTree(
                    file: try folder("\(size)/data", in: directory).appendingPathComponent("tree"))
                trees.append(tree)
                try await load(size, tree, &section)
            }
            try await onStore(trees, &section)
            for tree in trees { try await tree.close() }
        } catch {
            for tree in trees { try? await tree.close() }
            throw error
        }
        try await overREST(in: directory, &section)
        return section
    }

    private func load(_ size: Int, _ tree: OpenedTree, _ section: inout Section) async throws {
        try await tree.store.configureIndexes(
            [
                RealtimeIndexDefinition(
                    parents: [.key(RealtimeKey(unchecked: "people"))],
                    index: .child(RealtimePath(unchecked: [RealtimeKey(unchecked: "age")])))
            ], in: RealtimeREST.namespace)
        try await tree.store.settle()
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, first) in stride(from: 0, to: size, by: Self.batch).enumerated() {
                if index >= 4 { _ = try await group.next() }
                group.addTask {
                    try await tree.update("people", Self.people(first..<min(first + Self.batch, size), of: size))
                }
            }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - start).seconds
        section.add(Row("loading \(size), \(Self.batch) in a commit", .perSecond(Double(size) / seconds)))
    }

    /// Children whose order by the index isn't that of their keys.
    private static func people(_ numbers: Range<Int>, of size: Int) -> String {
        let members = numbers.map { number in
            #""person-\#(number)":{"name":"Person \#(number)","age":\#(age(number, of: size)),"city":"Kyoto"}"#
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// A permutation of the numbers: 7919 is prime, and divides no size.
    private static func age(_ number: Int, of size: Int) -> Int { number * 7919 % size }

    // MARK: In the store

    private func onStore(_ trees: [OpenedTree], _ section: inout Section) async throws {
        var reports = trees.map { _ in LoadReport() }
        let path = try RealtimePath("people")
        for _ in 0..<2 * pace.rounds {
            for (index, tree) in trees.enumerated() {
                let size = sizes[index]
                let report = try await StoreLoad.run(1, for: pace.length) { _, _ in
                    let first = Int.random(in: 0...(size - Self.results))
                    let query = RealtimeQuery(
                        index: .child(RealtimePath(unchecked: [RealtimeKey(unchecked: "age")])),
                        start: .init(value: .number(RealtimeNumber(Int64(first))), key: .minimum, isInclusive: true),
                        limit: .first(Self.results))
                    let (count, bytes) = try await tree.store.read(in: RealtimeREST.namespace) { state in
                        var bytes = 0
                        try state.writeJSON(at: path, matching: query, as: .plain) { bytes += $0.count }
                        let matches = try state.matches(of: query, at: path)
                        guard matches.isIndexed else { throw LoadError("the query has no index") }
                        return (matches.entries.count, bytes)
                    }
                    guard count == Self.results, bytes > 50 * Self.results else {
                        throw LoadError("the query found \(count) children of \(bytes) bytes")
                    }
                }
                reports[index].add(report)
            }
        }
        guard let small = reports.first, let large = reports.last else { return }
        section.add(
            "in the store, \(sizes[1])", large, beside: small, cpu: .ratioAtMost(1.3))
        section.add(
            Row(
                "in the store, \(sizes[1]): p50, both sizes", .milliseconds(large.percentile(0.5)),
                beside: .milliseconds(small.percentile(0.5)), aim: .ratioAtMost(1.3)))
        section.add(
            Row(
                "in the store, \(sizes[1]): p50 at most", .milliseconds(large.percentile(0.5)),
                aim: .atMost(.milliseconds(0.001))))
    }

    // MARK: Over REST

    /// On hosts of their own, which are filled over REST and index by their rules.
    private func overREST(in directory: URL, _ section: inout Section) async throws {
        let rules = directory.appendingPathComponent("database.rules.json")
        try Data(#"{"rules": {"people": {".read": true, ".indexOn": "age"}}}"#.utf8).write(to: rules)
        var reports: [LoadReport] = []
        for size in sizes {
            let folder = try folder("host-\(size)", in: directory)
            reports.append(
                try await HostProcess.with([], settings: #""databaseRules": "\#(rules.path)""#, in: folder) { host in
                    let rest = RealtimeREST(port: host.ports.database, token: "owner")
                    try await rest.update("people", size / Self.batch) { index in
                        Self.people(index * Self.batch..<(index + 1) * Self.batch, of: size)
                    }
                    return try await query(size, host)
                })
        }
        section.add("over REST, \(sizes[1])", reports[1], beside: reports[0])
    }

    private func query(_ size: Int, _ host: HostProcess) async throws -> LoadReport {
        let rest = RealtimeREST(port: host.ports.database)
        let queries = (0..<500).map { _ in
            let first = Int.random(in: 0...(size - Self.results))
            return rest.requests.get(
                "/people.json?orderBy=%22age%22&startAt=\(first)&limitToFirst=\(Self.results)")
        }
        let marker = Array(#""age":"#.utf8)
        let caller = RepeatingCaller(queries) { answer in
            answer.status == 200 && QueryBenchmark.count(marker, in: answer.body) == Self.results
        }
        return try await Load.run([caller], to: host.ports.database, for: pace.length, of: host.child.tree)
    }
}
