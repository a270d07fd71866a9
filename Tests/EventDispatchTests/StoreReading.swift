@testable import CommitPipeline
@testable import ControlAPI
import ControlProtocol
import DocumentModel
@testable import DocumentStore
import EventDelivery
@testable import EventDispatch
@testable import EventsAPI
import FunctionManifest
import StorageEngine
import TestSupport
import Testing
@testable import Workers

/// Everything that reads a store, and what writes to it besides.
struct StoreReading: Sendable {
    let store: DocumentStore
    let clock: ManualClock
    let seed: UInt64

    /// Damage may have any of these as its error.
    static func check(_ error: any Error, _ seed: UInt64) {
        let isExpected = error is DocumentError || error is StorageError || error is DecodingFailure
        #expect(isExpected, "\(type(of: error)) \(error); seed \(seed)")
    }

    private func attempt(_ body: () async throws -> Void) async {
        do { try await body() } catch { Self.check(error, seed) }
    }

    /// A few of many: each round reads others.
    private func some<Element>(
        _ elements: [Element], _ count: Int, _ random: inout SeededGenerator
    ) -> ArraySlice<Element> {
        elements.shuffled(using: &random).prefix(count)
    }

    func readAll(_ random: inout SeededGenerator) async {
        let routes = try? FunctionRoutes(StoredRows.functions)
        if let routes { store.routeEvents(by: routes) }
        await readDocuments(&random)
        if random.once(in: 2) { await follow(&random) }
        if random.once(in: 2) { await write(&random) }
        if random.once(in: 2) { await readOutbox(&random) }
        if random.once(in: 2) { await dispatch() }
        await check()
        await attempt { try store.export(begin: { _ in }, document: { _ in }) }
        guard random.once(in: 2) else { return }
        await attempt { _ = try await store.outbox.repair() }
        await attempt { try await store.rebuildIndexes() }
        if random.once(in: 3) { await attempt { try await store.configureIndexes(IndexConfiguration()) } }
        await readDocuments(&random)
        if random.once(in: 3) { await attempt { _ = try await store.clear() } }
        await check()
    }

    private func check() async {
        await attempt { _ = try store.check(report: { _ in }, progress: { _ in }) }
    }

    // MARK: Documents

    private var paths: [DocumentPath] {
        ((0..<14).map { "items/\($0)" } + (0..<6).map { "items/\($0)/orders/o\($0)" } + ["orders/top", "items/none"])
            .map { DocumentPath(unchecked: $0) }
    }

    private static let n = FieldPath(segments: ["n"])
    private static let v = FieldPath(segments: ["v"])

    private func queries() -> [Query] {
        func query(_ collection: String = "items", isGroup: Bool = false, _ change: (inout Query) -> Void) -> Query {
            var query = Query(collectionID: collection, allDescendants: isGroup)
            change(&query)
            return query
        }
        return [
            query { _ in }, query { $0.orderBy = [.init(Self.v)] },
            query {
                $0.orderBy = [.init(Self.v, descending: true)]; $0.limit = 5
            },
            query {
                $0.filter = .field(Self.n, .greaterThan, .integer(3)); $0.orderBy = [.init(Self.n)]; $0.offset = 2
            },
            query {
                $0.filter = .field(Self.n, .greaterThanOrEqual, .integer(1))
                $0.orderBy = [.init(Self.n), .init(Self.v, descending: true)]
                ($0.limit, $0.offset) = (3, 1)
            },
            query { $0.filter = .and([.field(Self.n, .equal, .integer(3)), .unary(Self.v, .isNotNull)]) },
            query { $0.filter = .field(FieldPath(segments: ["l"]), .arrayContains, .integer(2)) },
            query { $0.filter = .or([.field(Self.n, .equal, .integer(1)), .field(Self.v, .lessThan, .string("x"))]) },
            query {
                $0.filter = .field(FieldPath(segments: ["x"]), .equal, .string("exempt")); $0.limit = 4
            },
            query("orders", isGroup: true) { _ in },
            query("orders", isGroup: true) {
                $0.orderBy = [.init(Self.n, descending: true)]; $0.limit = 3
            },
            query("orders", isGroup: true) { $0.parent = DocumentPath(unchecked: "items/1") },
            query {
                $0.start = .init(values: [.integer(2)], before: false); $0.orderBy = [.init(Self.n)]; $0.limit = 3
            },
        ]
    }

    private func readDocuments(_ random: inout SeededGenerator) async {
        func state() -> ReadConsistency {
            guard random.once(in: 3) else { return .strong }
            return .at(
                Timestamp(microseconds: clock.timestamp().microseconds - .random(in: 0...3_000_000_000, using: &random))
            )
        }
        await attempt { _ = try await store.get(paths, state()) }
        for path in some(paths, 3, &random) { await attempt { _ = try await store.get([path], state()) } }
        for query in some(queries(), 4, &random) {
            await attempt { _ = try await store.query(query, state()) }
            await attempt { _ = try await store.explain(query, analyze: true, state()) }
            let fields: [AggregateField] = random.pick([
                [.count(upTo: nil), .sum(Self.n), .average(Self.v)], [.count(upTo: 4)], [.sum(Self.v)],
            ])
            await attempt { _ = try await store.aggregate(query, fields, state()) }
        }
        var group = Query(collectionID: "orders", allDescendants: true)
        group.orderBy = [.init(.documentID)]
        await attempt { _ = try await store.partition(group, points: 3, state()) }
        await attempt { _ = try await store.begin(.readOnly(at: nil)) }
        await attempt {
            guard case .began(let id, _) = try await store.begin() else { return }
            _ = try await store.get(Array(paths.prefix(4)), .transaction(id))
            _ = try await store.query(queries()[3], .transaction(id))
            _ = try await store.commit(
                [Write(path: paths[1], operation: .update(["t": .integer(1)], mask: [FieldPath(segments: ["t"])]))],
                transaction: id)
        }
        await attempt { _ = try await store.indexes() }
        for parent in [nil, paths[1]] {
            await attempt {
                _ = try await store.collectionIDs(below: parent)
                _ = try await store.descendants(Descendants(parent: parent, limit: 10))
                _ = try await store.list(DocumentListing(CollectionPath(unchecked: "orders"), limit: 2))
            }
        }
    }

    /// The change feed and listeners, from the start of the log and over changes.
    private func follow(_ random: inout SeededGenerator) async {
        await attempt {
            var position = Timestamp(
                microseconds: random.once(in: 2) ? 0 : clock.timestamp().microseconds - 3_000_000_000)
            for _ in 0..<200 {
                let page = try await store.commits(after: position, atMostBytes: 2000)
                position = page.position
                guard !page.isLast else { break }
            }
        }
        var listeners: [DocumentListener] = []
        for target in some([.documents(Set(paths))] + queries().map(ListenTarget.query), 4, &random) {
            await attempt {
                let listener = try store.listen(to: target)
                if try await listener.next() != nil { listeners.append(listener) }
            }
        }
        for (number, path) in some(paths, 4, &random).enumerated() {
            await attempt {
                let change = Write.Operation.set(["n": .integer(Int64(number)), "v": .integer(1)])
                let write = Write(path: path, operation: number % 3 == 2 ? .delete : change)
                let result = try await store.commit([write])
                guard case .committed(let committed) = result else { return }
                // Listeners that damage has ended don't move on.
                while store.listeners.count > 0, store.listeners.position < committed.commitTime { await Task.yield() }
            }
        }
        for listener in listeners { listener.cancel() }
    }

    private func write(_ random: inout SeededGenerator) async {
        for path in some(paths, 5, &random) {
            await attempt {
                _ = try await store.commit([
                    Write(
                        path: path, operation: .update([:], mask: []),
                        transforms: [
                            FieldTransform(Self.n, .increment(.integer(.max))),
                            FieldTransform(FieldPath(segments: ["l"]), .arrayUnion([.integer(1)])),
                        ])
                ])
            }
        }
        await attempt { _ = try await store.batchWrite(paths.prefix(5).map { Write(path: $0, operation: .delete) }) }
        for (key, answer) in [("1", [4, 5]), ("2", [6])] as [(String, [UInt8])] {
            let key = CompletionKey(scope: "f/ada", key: key, fingerprint: [1, 2, 3])
            await attempt {
                _ = try await store.commit(
                    [Write(path: paths[0], operation: .delete)], completing: answer,
                    in: OperationContext(completion: key))
            }
        }
        for name in ["used", "held", "new"] {
            await attempt {
                _ = try await store.commit([], effects: [.enqueue(TaskDraft(queue: "q", name: name, body: []))])
            }
            await attempt { _ = try await store.commit([], effects: [.deleteTask(name, queue: "q")]) }
        }
        await attempt {
            _ = try await store.commit([], effects: [.publish(CloudEvent(type: "shop.sold", source: "/s"))])
        }
        // What is swept and trimmed from time to time.
        clock.advance(by: .seconds(2))
        await attempt { try await store.outbox.keep([("test/barrier", nil)]) }
    }

    // MARK: Deliveries

    private func readOutbox(_ random: inout SeededGenerator) async {
        let outbox = store.outbox
        await attempt { _ = try await outbox.functions() }
        await attempt {
            let counts = try await outbox.counts()
            _ = DeliveryStatistics(counts, now: clock.timestamp())
        }
        let service = DeliveryService(store, database: DatabaseID(project: "p"), now: clock.timestamp)
        let filters = [DeliveryFilter(), DeliveryFilter(function: "g"), DeliveryFilter(states: [.dead], olderThan: 5)]
        for filter in some(filters, 1, &random) {
            await attempt {
                var cursor: String?
                for _ in 0..<300 {
                    let page = try await service.list(filter, after: cursor, limit: 2)
                    cursor = page.next
                    if cursor == nil { return }
                }
                Issue.record("the list of deliveries has no end; seed \(seed)")
            }
        }
        await attempt {
            for (name, _) in try await outbox.records(startingWith: "") { _ = name }
            let records = try await EventRecords.load(store)
            for record in records.budgets.values {
                guard var used = try? BudgetState(StoredRows.budget, record: record) else { continue }
                _ = used.admit(now: clock.timestamp())
                _ = used.spent(microseconds: 5, now: clock.timestamp())
                _ = used.record
            }
        }
        for function in some(StoredRows.functions.map(\.name), 3, &random) {
            for areDead in [false, true] {
                await attempt {
                    for delivery in try await outbox.deliveries(areDead: areDead, function: function, limit: 100) {
                        await attempt { _ = try await service.show(delivery.id) }
                    }
                }
            }
            await attempt { _ = try await outbox.pendingCount(of: function) }
            await attempt {
                let due = try await outbox.dueDeliveries(
                    of: function, at: clock.timestamp(), except: [], limit: 3, maxBytes: 1 << 20)
                guard let first = due.deliveries.first else { return }
                _ = try await outbox.requeue([first.delivery.id])
                _ = try await outbox.deadLetter([first.delivery], because: "a test")
            }
        }
        for name in ["used", "held"] { await attempt { _ = try await outbox.delivery(ofTask: name, in: "q") } }
    }

    /// The dispatcher works on what is due, with handlers that end in each way.
    private func dispatch() async {
        await attempt {
            let records = try await EventRecords.load(store)
            let functions = StoredRows.functions.enumerated().map { index, function in
                EventService.Function(
                    manifest: function,
                    gate: FunctionGate(
                        function.name, budget: StoredRows.budget, record: records.budgets[function.name],
                        now: clock.timestamp, logger: .silent),
                    launcher: EndingLauncher(EndingLauncher.ends[index % EndingLauncher.ends.count]))
            }
            guard
                let service = try? EventService(
                    functions, records: records, maxDepth: 4,
                    parts: .init(
                        store: store, timer: clock, now: clock.timestamp, alerts: nil, logger: .silent))
            else { return }
            service.begin()
            await service.care()
            await service.sweep()
            for _ in 0..<3 {
                await attempt { try await store.outbox.keep([("test/barrier", nil)]) }
                clock.advance(by: .seconds(30))
            }
            await attempt {
                let metrics = try await service.metrics()
                let pauses = service.pausedFunctions
                _ = DeliveryStatistics(metrics, pauses: pauses, now: clock.timestamp())
                _ = MetricsText.text(
                    metrics, of: StoredRows.functions.map(\.name), pauses: pauses, now: clock.timestamp())
            }
            await service.keepBudgets()
            service.stop()
        }
        await attempt {
            var keeper = ScheduleKeeper(
                try StoredRows.functions.compactMap { try ScheduledJob($0) }, store: store, logger: .silent)
            for _ in 0..<3 {
                await keeper.step(at: clock.timestamp())
                clock.advance(by: .seconds(300))
            }
        }
    }
}

/// Handlers that end at once, all in the same way.
private struct EndingLauncher: DeliveryLauncher {
    static let ends: [AttemptEnd] = [
        .succeeded, .failed(DeliveryFailure("INTERNAL: it broke", status: 500)), .returned,
        .failedForGood(DeliveryFailure("no event", status: 500)),
        .lostInCompany("crash"), .notStarted("no process"),
    ]

    let end: AttemptEnd

    init(_ end: AttemptEnd) { self.end = end }

    func launch(_ starts: [DeliveryStart]) {
        for start in starts {
            Task {
                if let event = try? Event(decoding: start.stored.event) { _ = event.encoded }
                if end != .notStarted("no process") { start.onStart() }
                start.onEnd(end, AttemptExecution())
            }
        }
    }
}
