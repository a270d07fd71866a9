import CommitPipeline
import StorageEngine
import DocumentModel
import DocumentStore
import Foundation

/// Measures what deliveries cost commits, and the rate of deliveries through a durable store without handlers.
struct DeliveriesBenchmark: Benchmark {
    static let name = "deliveries"
    private static let writers = 16
    private static let function = "handler"
    /// The number of tasks in one commit.
    private static let tasksEach = 1000

    var pace: Pace

    /// How many of the registered patterns match the written document.
    private enum Match: String {
        case none = "none matches"
        case one = "one matches"
    }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Deliveries straight on the store, \(MeasuredEngine.kind.rawValue)",
            notes: [
                "reference of the commits: the same without a pattern; CPU is that of the whole process",
                "ended: leased, and the end durable, with as many in flight as the host allows for one function",
                "drained: by the host's dispatcher in its own process, with handlers that end at once",
            ])
        try await measureCommits(directory, &section)
        try await measureEnds(directory, &section)
        try await measureOrdered(directory, &section)
        do { try await measureDrain(directory, &section) } catch { section.fail("drain: \(error)") }
        return section
    }

    // MARK: Commits

    private func measureCommits(_ directory: URL, _ section: inout Section) async throws {
        let cases: [(count: Int, match: Match)] = [
            (1, .none), (100, .none), (1000, .none), (1, .one), (100, .one), (1000, .one),
        ]
        var reference = LoadReport()
        var reports = cases.map { _ in LoadReport() }
        for round in 0..<pace.rounds {
            reference.add(try await commits(0, .none, directory.appendingPathComponent("plain-\(round).sqlite")))
            for (index, item) in cases.enumerated() {
                let file = directory.appendingPathComponent("commits-\(round)-\(index).sqlite")
                reports[index].add(try await commits(item.count, item.match, file))
            }
        }
        for (item, report) in zip(cases, reports) {
            let name = "commit, \(item.count) \(item.count == 1 ? "pattern" : "patterns"), \(item.match.rawValue)"
            section.add(
                name, report, beside: reference, cpu: item.match == .none ? .ratioAtMost(1.1) : nil)
        }
    }

    private func commits(_ patterns: Int, _ match: Match, _ file: URL) async throws -> LoadReport {
        try await with(file) { store in
            var triggers = try (0..<patterns).map { try Self.trigger("collection-\($0)/{id}") }
            if match == .one { triggers[0] = try Self.trigger("products/{id}") }
            store.routeEvents(documents: triggers)
            return try await StoreLoad.run(Self.writers, for: pace.length) { writer, count in
                _ = try await store.commit([
                    Write(
                        path: try DocumentPath("products/product-\(writer)-\(count % 4)"),
                        operation: .set(["name": .string("Cup"), "stock": .integer(Int64(count))]))
                ])
            }
        }
    }

    private static func trigger(_ pattern: String) throws -> DocumentTrigger {
        DocumentTrigger(function: function, kind: .written, pattern: try DocumentPattern(pattern))
    }

    // MARK: Ends

    private func measureEnds(_ directory: URL, _ section: inout Section) async throws {
        let count = pace.count(40_000, quick: 10_000)
        for atWork in [1, 64, 1000] {
            let count = atWork == 1 ? count / 20 : count
            let report = try await with(directory.appendingPathComponent("ends-\(atWork).sqlite")) { store in
                try await Self.fill(store, count)
                let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
                var report = try await DeliveryDrain(store: store, function: Self.function, atWork: atWork).run()
                report.elapsed = (ContinuousClock.now - start).seconds
                report.cpu = OwnProcess.cpuSeconds() - cpu
                guard report.operations == count else {
                    throw LoadError("\(report.operations) of \(count) deliveries were ended")
                }
                return report
            }
            section.add("ended, \(atWork) in flight", report, beside: nil)
        }
    }

    /// One document's events, each of which becomes due at the end of the one before.
    private func measureOrdered(_ directory: URL, _ section: inout Section) async throws {
        let count = pace.count(20_000, quick: 5000)
        let report = try await with(directory.appendingPathComponent("ordered.sqlite")) { store in
            var trigger = try Self.trigger("products/{id}")
            trigger.isOrdered = true
            store.routeEvents(documents: [trigger])
            let path = try DocumentPath("products/hot")
            try await withThrowingTaskGroup { group in
                for writer in 0..<Self.writers {
                    group.addTask {
                        for number in stride(from: writer, to: count, by: Self.writers) {
                            _ = try await store.commit([
                                Write(path: path, operation: .set(["n": .integer(Int64(number))]))
                            ])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
            var report = try await DeliveryDrain(store: store, function: Self.function, atWork: 1).run()
            report.elapsed = (ContinuousClock.now - start).seconds
            report.cpu = OwnProcess.cpuSeconds() - cpu
            guard report.operations == count else { throw LoadError("\(report.operations) of \(count) were ended") }
            return report
        }
        section.add("ended, one document's in their order", report, beside: nil)
    }

    // MARK: A million

    private func measureDrain(_ directory: URL, _ section: inout Section) async throws {
        let count = pace.count(1_000_000, quick: 100_000)
        let name = pace.isQuick ? "100,000 pending" : "1,000,000 pending"
        let file = directory.appendingPathComponent("drain.sqlite")
        let seconds = try await with(file) { store in
            let start = ContinuousClock.now
            try await Self.fill(store, count)
            let seconds = (ContinuousClock.now - start).seconds
            let asked = ContinuousClock.now
            guard try await store.outbox.counts().first?.pending == count else {
                throw LoadError("some deliveries are missing")
            }
            section.add(Row("\(name): counted in", .milliseconds((ContinuousClock.now - asked).seconds)))
            return seconds
        }
        section.add(Row("\(name): written", .perSecond(Double(count) / seconds)))
        let drain = try await DispatcherDrain(file: file.path, function: Self.function)
            .runInChildProcess(log: directory.appendingPathComponent("drain.log"))
        guard drain.deliveries == count else { throw LoadError("\(drain.deliveries) of \(count) were handled") }
        section.add(Row("\(name): drained", .perSecond(Double(count) / drain.elapsed)))
        section.add(Row("\(name): CPU each", .microseconds(drain.cpu / Double(count))))
        section.add(
            Row(
                "\(name): peak memory after a tenth (reference: at a tenth)", .bytes(drain.late),
                beside: .bytes(drain.early), aim: .ratioAtMost(1.5)))
        section.add(Row("\(name): peak memory", .bytes(drain.peak), aim: .atMost(.bytes(100_000_000))))
        try await with(file) { store in
            guard try await store.outbox.counts().isEmpty else { throw LoadError("some deliveries are still pending") }
        }
    }

    private static func fill(_ store: DocumentStore, _ count: Int) async throws {
        store.routeEvents(by: EventRoutes(queues: [function]))
        let body = Array(#"{"order": "orders/0123456789", "amount": 12800, "currency": "JPY"}"#.utf8)
        let task = Effect.enqueue(TaskDraft(queue: function, body: body))
        for start in stride(from: 0, to: count, by: tasksEach) {
            let effects = Array(repeating: task, count: min(tasksEach, count - start))
            _ = try await store.commit([], effects: effects)
        }
    }

    private func with<Value: Sendable>(
        _ file: URL, _ body: (DocumentStore) async throws -> Value
    ) async throws -> Value {
        let engine = try MeasuredEngine.open(file.path)
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        do {
            let value = try await body(store)
            await store.shutdown()
            try engine.close()
            return value
        } catch {
            await store.shutdown()
            try? engine.close()
            throw error
        }
    }
}
