import DocumentModel
import Foundation
import StorageEngine

/// Measures documents, queries and aggregations straight on the store, in collections of a thousand to a million
/// documents.
struct StoreBenchmark: Benchmark {
    static let name = "store"
    private static let clients = 16

    var pace: Pace

    /// Shorter than in other benchmarks, because there are many operations, each measured in all sizes by turns.
    private var rounds: Int { 2 }

    private var sizes: [Int] { pace.isQuick ? [1000, 100_000] : [1000, 100_000, 1_000_000] }

    /// An operation that is measured in each size.
    private struct Operation {
        var name: String
        var clients = 1
        /// The most time that it may take in the largest size, as a multiple of the smallest.
        var aim: Double?
        var body: @Sendable (LoadedStore, Int, Int) async throws -> Void
    }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Store in one process, \(MeasuredEngine.kind.rawValue), \(Self.text(sizes[sizes.count - 1])) documents",
            notes: [
                "reference: the same in \(Self.text(sizes[0])) documents; each size in its own store and file",
                "CPU is that of the whole process: the store's threads and its callers",
            ])
        var stores: [LoadedStore] = []
        do {
            for size in sizes {
                let start = ContinuousClock.now
                stores.append(try await LoadedStore(size, in: directory))
                let seconds = (ContinuousClock.now - start).seconds
                section.add(
                    Row("loading \(Self.text(size)), 500 in a commit", .perSecond(Double(size) / seconds)))
            }
            for operation in Self.operations {
                // A failed operation doesn't invalidate the others.
                do { try await measure(operation, stores, &section) } catch {
                    section.fail("\(operation.name): \(error)")
                }
            }
            do { try await aggregateAll(stores, &section) } catch { section.fail("aggregation of all: \(error)") }
            for store in stores {
                try await store.close()
                let bytes = try DiskSpace.bytes(below: URL(fileURLWithPath: store.file))
                section.add(Row("disk for \(Self.text(store.size))", .bytes(bytes)))
            }
            if let largest = stores.last { await measureMemory(largest, directory, &section) }
        } catch {
            for store in stores { try? await store.close() }
            throw error
        }
        return section
    }

    private static var operations: [Operation] {
        [
            Operation(name: "get", clients: clients) { loaded, _, _ in
                let path = try loaded.path(.random(in: 0..<loaded.size))
                guard try await loaded.store.get([path]).documents.first != .some(nil) else {
                    throw LoadError("\(path) is missing")
                }
            },
            Operation(name: "commit of a changed field", clients: clients) { loaded, client, count in
                // Each client writes its own documents, so that each commit changes something.
                let number = Int.random(in: 0..<loaded.size / clients) * clients + client
                let stock = try FieldPath("stock")
                _ = try await loaded.store.commit([
                    Write(
                        path: try loaded.path(number),
                        operation: .update(["stock": .integer(Int64(count))], mask: [stock]))
                ])
            },
            Operation(name: "commit that changes 2 of 8 fields", clients: 64) { loaded, client, count in
                let number = Int.random(in: 0..<loaded.size / 64) * 64 + client
                _ = try await loaded.store.commit([
                    Write(path: try loaded.path(number), operation: .set(loaded.fields(number, change: count)))
                ])
            },
        ]
            + LoadedStore.Kind.allCases.map { kind in
                Operation(name: kind.rawValue, aim: 1.3) { loaded, _, _ in
                    let query = try loaded.query(kind, at: .random(in: 0..<1 << 30))
                    guard try await loaded.store.query(query).documents.count == LoadedStore.results else {
                        throw LoadError("\(kind.rawValue): not 100 documents")
                    }
                }
            }
            + [("count of 100", AggregateField.count(upTo: nil)), ("sum of 100", .sum(number))].map { name, field in
                Operation(name: name, aim: 1.3) { loaded, _, _ in
                    let query = try loaded.ofGroup(at: .random(in: 0..<1 << 30))
                    _ = try await loaded.store.aggregate(query, [field])
                }
            }
    }

    private static let number = FieldPath(segments: ["number"])

    private func measure(
        _ operation: Operation, _ stores: [LoadedStore], _ section: inout Section
    ) async throws {
        var reports = stores.map { _ in LoadReport() }
        for _ in 0..<rounds {
            for (index, loaded) in stores.enumerated() {
                reports[index].add(
                    try await StoreLoad.run(operation.clients, for: pace.length) { client, count in
                        try await operation.body(loaded, client, count)
                    })
            }
        }
        guard let smallest = reports.first, let largest = reports.last else { return }
        let (clients, last) = (operation.clients == 1 ? "" : ", \(operation.clients) clients", stores.count - 1)
        for (index, report) in reports.enumerated() {
            let name = "\(operation.name)\(clients): p50 in \(Self.text(stores[index].size))"
            let median = Quantity.microseconds(report.percentile(0.5))
            section.check(report, name)
            guard index > 0 else {
                section.add(Row(name, median))
                continue
            }
            section.add(
                Row(
                    name, median, beside: .microseconds(smallest.percentile(0.5)),
                    aim: index == last ? operation.aim.map { .ratioAtMost($0) } : nil))
        }
        if operation.aim != nil {
            section.add(
                Row(
                    "\(operation.name): p50 at most", .milliseconds(largest.percentile(0.5)),
                    aim: .atMost(.milliseconds(0.001))))
        }
        section.add(
            Row(
                "\(operation.name)\(clients): CPU each", .microseconds(largest.cpuPerOperation),
                beside: .microseconds(smallest.cpuPerOperation)))
        section.add(
            Row(
                "\(operation.name)\(clients): rate", .perSecond(largest.perSecond),
                beside: .perSecond(smallest.perSecond)))
    }

    /// The cost of reading a whole collection is reported per document.
    private func aggregateAll(_ stores: [LoadedStore], _ section: inout Section) async throws {
        for (name, field) in [("count of all", AggregateField.count(upTo: nil)), ("sum of all", .sum(Self.number))] {
            var each: [Double] = []
            for loaded in stores {
                var times: [Double] = []
                for _ in 0..<3 {
                    let start = ContinuousClock.now
                    _ = try await loaded.store.aggregate(loaded.all, [field])
                    times.append((ContinuousClock.now - start).seconds)
                }
                each.append(LoadReport.median(times) / Double(loaded.size))
                section.add(Row("\(name) \(Self.text(loaded.size)): p50", .milliseconds(LoadReport.median(times))))
            }
            section.add(
                Row("\(name): per document", .microseconds(each[each.count - 1]), beside: .microseconds(each[0])))
        }
    }

    /// Each scan runs in its own process, so that its memory contains nothing else.
    private func measureMemory(
        _ loaded: LoadedStore, _ directory: URL, _ section: inout Section
    ) async {
        for kind in StoreScan.allCases {
            let name = "\(kind.rawValue) of \(Self.text(loaded.size)): peak memory"
            do {
                let peak = try await kind.peakBytes(of: loaded.file, log: directory.appendingPathComponent("scan.log"))
                section.add(Row(name, .bytes(peak), aim: .atMost(.bytes(100_000_000))))
            } catch {
                section.fail("\(name): \(error)")
            }
        }
    }

    private static func text(_ size: Int) -> String {
        size < 1_000_000 ? "\(size / 1000),000" : "\(size / 1_000_000),000,000"
    }
}
