import CommitPipeline
import StorageEngine
import DocumentModel
import DocumentStore
@testable import ControlProtocol
@testable import ControlAPI
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Operators list, show, retry and drop deliveries.
struct DeliveryServiceTests {
    /// A store with an injected clock, two task queues and a document trigger.
    private final class Fixture: Sendable {
        let store: DocumentStore
        let clock = ManualClock(at: Timestamp(microseconds: 1_767_323_045_000_000))
        let running = Mutex<Set<DeliveryID>>([])

        init() throws {
            store = try DocumentStore(engine: MemoryEngine(), now: clock.timestamp)
            try store.start()
            store.routeEvents(
                by: EventRoutes(queues: ["alpha", "beta"]),
                documents: [
                    .init(function: "audit", kind: .written, pattern: try DocumentPattern("users/{id}")),
                    .init(
                        function: "follow", kind: .written, pattern: try DocumentPattern("carts/{id}"),
                        isOrdered: true),
                ])
        }

        func service() -> DeliveryService {
            DeliveryService(
                store, database: DatabaseID(project: "demo-shop"), now: clock.timestamp,
                isRunning: { id in self.running.withLock { $0.contains(id) } })
        }

        @discardableResult
        func enqueue(_ queue: String, _ count: Int = 1, name: String? = nil, later: Int64 = 0) async throws
            -> [DeliveryID]
        {
            var ids: [DeliveryID] = []
            for _ in 0..<count {
                let due = later > 0 ? Timestamp(seconds: clock.timestamp().seconds + later, nanoseconds: 0) : nil
                let task = TaskDraft(
                    queue: queue, name: name, body: Array(#"{"data":1}"#.utf8), headers: ["X-A": "b"], scheduleTime: due
                )
                let result = try await store.commit([], effects: [.enqueue(task)]).result
                ids.append(
                    DeliveryID(event: EventID(version: result.commitTime.microseconds, ordinal: 0), function: queue))
            }
            return ids
        }

        func fail(_ id: DeliveryID, _ outcome: (DeliveryFailure) -> DeliveryOutcome) async throws {
            let lease = try #require(store.outbox.lease(id))
            let ended = await withCheckedContinuation { continuation in
                store.outbox.end(lease, outcome(DeliveryFailure("it trapped", status: 500))) {
                    continuation.resume(returning: $0)
                }
            }
            #expect(try ended.get() == 1)
        }

        func listed(_ filter: DeliveryFilter = DeliveryFilter(), pages of: Int = 1000) async throws -> [String] {
            var listed: [String] = []
            var cursor: String?
            repeat {
                let page = try await service().list(filter, after: cursor, limit: of)
                #expect(page.deliveries.count <= of)
                listed += page.deliveries.map { "\($0.function) \($0.event) \($0.state)" }
                cursor = page.next
            } while cursor != nil
            return listed
        }
    }

    private struct Unexpected: Error {}

    @Test func deliveriesAreFilteredByFunctionStateAndAge() async throws {
        let fixture = try Fixture()
        let old = try await fixture.enqueue("beta", 2)
        fixture.clock.advance(seconds: 100)
        let young = try await fixture.enqueue("beta", 1)
        let other = try await fixture.enqueue("alpha", 2)
        try await fixture.fail(old[0]) { .dead($0) }
        fixture.running.withLock { _ = $0.insert(other[1]) }
        func text(_ id: DeliveryID, _ state: String) -> String { "\(id.function) \(id.event) \(state)" }
        let all = [
            text(other[0], "pending"), text(other[1], "running"), text(old[1], "pending"), text(young[0], "pending"),
            text(old[0], "dead"),
        ]
        for size in [1, 2, 3, 1000] { #expect(try await fixture.listed(pages: size) == all) }
        #expect(try await fixture.listed(DeliveryFilter(function: "beta")) == [all[2], all[3], all[4]])
        #expect(try await fixture.listed(DeliveryFilter(states: [.dead])) == [all[4]])
        #expect(try await fixture.listed(DeliveryFilter(states: [.running])) == [all[1]])
        #expect(try await fixture.listed(DeliveryFilter(states: [.pending], olderThan: 50)) == [all[2]])
        #expect(try await fixture.listed(DeliveryFilter(olderThan: 50)) == [all[2], all[4]])
        #expect(try await fixture.listed(DeliveryFilter(olderThan: 200)) == [])
        #expect(try await fixture.listed(DeliveryFilter(states: [.waiting])) == [])
        await fixture.store.shutdown()
    }

    @Test func retryMakesFailedDeliveriesDueAndSkipsUntriedOnes() async throws {
        let fixture = try Fixture()
        let (dead, failed, planned) = (
            try await fixture.enqueue("alpha")[0], try await fixture.enqueue("alpha")[0],
            try await fixture.enqueue("alpha", later: 1000)[0]
        )
        try await fixture.fail(dead) { .dead($0) }
        try await fixture.fail(failed) { .retry(at: Timestamp(seconds: 1_999_999_999, nanoseconds: 0), $0) }
        #expect(try await fixture.service().perform(.retry, DeliveryFilter(), after: nil) == DeliveryChange(count: 2))
        let listed = try await fixture.service().list(DeliveryFilter(), after: nil, limit: 10).deliveries
        #expect(listed.map(\.state) == ["pending", "pending", "pending"])
        #expect(listed.map(\.tries) == [0, 0, 0])
        let due = listed.map(\.due)
        try #require(due.count == 3)
        #expect(due[0] == due[1] && due[2] == "2026-01-02T03:20:45Z")
        // A delivery that is named is retried in any case.
        #expect(try await fixture.service().perform(.retry, planned).count == 1)
        #expect(try await fixture.service().show(planned).delivery.due == due[0])
        await fixture.store.shutdown()
    }

    @Test func dropDeletesDeliveriesUnlessTheirHandlerRuns() async throws {
        let fixture = try Fixture()
        try await fixture.enqueue("beta", 2)
        let ids = try await fixture.enqueue("alpha", 2)
        try await fixture.fail(ids[0]) { .dead($0) }
        let lease = try #require(fixture.store.outbox.lease(ids[1]))
        fixture.running.withLock { _ = $0.insert(ids[1]) }
        let filter = DeliveryFilter(function: "alpha")
        #expect(try await fixture.service().perform(.count, filter, after: nil).count == 1)
        #expect(try await fixture.listed().count == 4)
        #expect(try await fixture.service().perform(.drop, filter, after: nil) == DeliveryChange(count: 1))
        await #expect {
            try await fixture.service().perform(.drop, ids[1])
        } throws: {
            ($0 as? DocumentError)?.code == .failedPrecondition
        }
        await #expect {
            try await fixture.service().perform(.drop, ids[0])
        } throws: {
            ($0 as? DocumentError)?.code == .notFound
        }
        fixture.store.outbox.release(lease)
        #expect(try await fixture.service().perform(.drop, ids[1]).count == 1)
        #expect(try await fixture.listed(filter) == [])
        #expect(try await fixture.listed().count == 2)
        await fixture.store.shutdown()
    }

    @Test func aDeliveryBehindAnotherOneWaitsForIt() async throws {
        let fixture = try Fixture()
        for number in 1...2 {
            let write = Write(path: try DocumentPath("carts/ada"), operation: .set(["n": .integer(Int64(number))]))
            _ = try await fixture.store.commit([write])
        }
        let listed = try await fixture.service().list(DeliveryFilter(), after: nil, limit: 10).deliveries
        #expect(listed.map(\.state) == ["pending", "waiting"])
        let ids = try listed.map { DeliveryID(event: try #require(EventID($0.event)), function: "follow") }
        await #expect {
            try await fixture.service().perform(.retry, ids[1])
        } throws: {
            ($0 as? DocumentError)?.code == .failedPrecondition
        }
        try await fixture.fail(ids[0]) { .dead($0) }
        let first = try await fixture.service().show(ids[0]).delivery
        #expect((first.state, first.died) == ("dead", fixture.clock.timestamp().rfc3339))
        let second = try await fixture.service().show(ids[1]).delivery
        #expect((second.state, second.died) == ("pending", nil))
        await fixture.store.shutdown()
    }

    @Test func aRequestScansABoundedNumberOfDeliveries() async throws {
        let fixture = try Fixture()
        for _ in 0..<6 {
            let tasks = (0..<1000).map { _ in Effect.enqueue(TaskDraft(queue: "beta", body: Array("{}".utf8))) }
            _ = try await fixture.store.commit([], effects: tasks)
        }
        let (service, filter) = (fixture.service(), DeliveryFilter(states: [.waiting]))
        // No delivery matches, and the response comes before all are scanned.
        let first = try await service.list(filter, after: nil, limit: 10)
        #expect(first.deliveries.isEmpty && first.next != nil)
        #expect(try await fixture.listed(filter) == [])
        var dropped = 0
        var cursor: String?
        repeat {
            let change = try await service.perform(.drop, DeliveryFilter(), after: cursor)
            #expect(change.count <= 5000)
            dropped += change.count
            cursor = change.next
        } while cursor != nil
        #expect(dropped == 6000)
        await fixture.store.shutdown()
    }

    @Test func aDocumentEventIsShownCompletely() async throws {
        let fixture = try Fixture()
        let write = Write(
            path: try DocumentPath("users/ada"), operation: .set(["n": .integer(1), "bad": .double(.nan)]))
        let context = OperationContext(auth: EventAuth(.appUser, id: "u1"), chain: ["first", "second"])
        _ = try await fixture.store.commit([write], in: context)
        let listed = try await fixture.service().list(DeliveryFilter(), after: nil, limit: 1).deliveries
        let event = try #require(listed.first.flatMap { EventID($0.event) })
        let details = try await fixture.service().show(DeliveryID(event: event, function: "audit"))
        #expect(details.event.auth == EventReport.Auth(type: "app_user", id: "u1"))
        #expect(details.event.chain == ["first", "second"])
        let document = try #require(details.event.document)
        #expect(document.path == "users/ada" && document.before == nil)
        guard case .object(let after)? = document.after, case .object(let fields)? = after["fields"] else {
            throw Unexpected()
        }
        #expect(
            fields == [
                "n": .object(["integerValue": .string("1")]), "bad": .object(["doubleValue": .string("NaN")]),
            ])
        #expect(details.event.task == nil && details.event.custom == nil && details.event.schedule == nil)
        await fixture.store.shutdown()
    }

    @Test func aTaskIsShownCompletely() async throws {
        let fixture = try Fixture()
        let id = try await fixture.enqueue("alpha", name: "order-1")[0]
        try await fixture.fail(id) { .retry(at: Timestamp(seconds: 1_999_999_999, nanoseconds: 0), $0) }
        let details = try await fixture.service().show(id)
        #expect(details.delivery.taskName == "order-1" && details.delivery.tries == 1)
        #expect(details.delivery.lastError == "it trapped" && details.delivery.lastStatus == 500)
        #expect(details.event.task?.body == EventReport.Payload(Array(#"{"data":1}"#.utf8)))
        #expect(details.event.task?.body.text == #"{"data":1}"# && details.event.task?.headers == ["X-A": "b"])
        await fixture.store.shutdown()
    }

    @Test(arguments: ["", "x", "dead/a", "living/a/b", "living/alpha/zzz"])
    func anInvalidCursorIsRejected(cursor: String) async throws {
        let fixture = try Fixture()
        await #expect(throws: DocumentError.self) {
            try await fixture.service().list(DeliveryFilter(), after: cursor, limit: 1)
        }
        await fixture.store.shutdown()
    }
}
