@testable import HostJSON
import StorageEngine
import DocumentModel
import DocumentStore
@testable import ControlProtocol
@testable import ControlAPI
import Synchronization
import TestSupport
import Testing

/// What an operator sees of the outbox and does to it.
struct DeliveryServiceTests {
    /// A store whose clock tests set, with two queues and a document trigger.
    private final class Place: Sendable {
        let store: DocumentStore
        let clock = ManualClock(at: Timestamp(microseconds: 1_767_323_045_000_000))
        let running = Mutex<Set<DeliveryID>>([])

        init() throws {
            store = try DocumentStore(engine: MemoryEngine(), now: clock.timestamp)
            try store.start()
            store.routeEvents(
                by: EventRoutes(
                    documents: [.init(function: "audit", kind: .written, pattern: try DocumentPattern("users/{id}"))],
                    queues: ["alpha", "beta"]))
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
                let request = DocumentRequest.commit([], transaction: nil, completing: nil, effects: [.enqueue(task)])
                guard case .committed(let result) = await store.perform(request) else { throw Unexpected() }
                ids.append(
                    DeliveryID(event: EventID(version: result.commitTime.microseconds, ordinal: 0), function: queue))
            }
            return ids
        }

        func fail(_ id: DeliveryID, _ outcome: (DeliveryFailure) -> DeliveryOutcome) async throws {
            let lease = try #require(store.lease(id))
            let ended = await withCheckedContinuation { continuation in
                store.end(lease, outcome(DeliveryFailure("it trapped", status: 500))) {
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

    @Test func deliveriesAreListedByFunctionStateAndAge() async throws {
        let place = try Place()
        let old = try await place.enqueue("beta", 2)
        place.clock.advance(seconds: 100)
        let young = try await place.enqueue("beta", 1)
        let other = try await place.enqueue("alpha", 2)
        try await place.fail(old[0]) { .dead($0) }
        place.running.withLock { _ = $0.insert(other[1]) }
        func text(_ id: DeliveryID, _ state: String) -> String { "\(id.function) \(id.event) \(state)" }
        let all = [
            text(other[0], "pending"), text(other[1], "running"), text(old[1], "pending"), text(young[0], "pending"),
            text(old[0], "dead"),
        ]
        for size in [1, 2, 3, 1000] { #expect(try await place.listed(pages: size) == all) }
        #expect(try await place.listed(DeliveryFilter(function: "beta")) == [all[2], all[3], all[4]])
        #expect(try await place.listed(DeliveryFilter(states: [.dead])) == [all[4]])
        #expect(try await place.listed(DeliveryFilter(states: [.running])) == [all[1]])
        #expect(try await place.listed(DeliveryFilter(states: [.pending], olderThan: 50)) == [all[2]])
        #expect(try await place.listed(DeliveryFilter(olderThan: 50)) == [all[2], all[4]])
        #expect(try await place.listed(DeliveryFilter(olderThan: 200)) == [])
        #expect(try await place.listed(DeliveryFilter(states: [.waiting])) == [])
        await place.store.shutdown()
    }

    @Test func whatHasFailedIsRetriedAndWhatWasNeverTriedKeepsItsTime() async throws {
        let place = try Place()
        let (dead, failed, planned) = (
            try await place.enqueue("alpha")[0], try await place.enqueue("alpha")[0],
            try await place.enqueue("alpha", later: 1000)[0]
        )
        try await place.fail(dead) { .dead($0) }
        try await place.fail(failed) { .retry(at: Timestamp(seconds: 1_999_999_999, nanoseconds: 0), $0) }
        #expect(try await place.service().perform(.retry, DeliveryFilter(), after: nil) == DeliveryChange(count: 2))
        let listed = try await place.service().list(DeliveryFilter(), after: nil, limit: 10).deliveries
        #expect(listed.map(\.state) == ["pending", "pending", "pending"])
        #expect(listed.map(\.tries) == [0, 0, 0])
        let due = listed.map(\.due)
        try #require(due.count == 3)
        #expect(due[0] == due[1] && due[2] == "2026-01-02T03:20:45Z")
        // The one that is named is told now in any case.
        #expect(try await place.service().perform(.retry, planned).count == 1)
        #expect(try await place.service().show(planned).delivery.due == due[0])
        await place.store.shutdown()
    }

    @Test func whatIsDroppedIsGoneAndWhatRunsStays() async throws {
        let place = try Place()
        try await place.enqueue("beta", 2)
        let ids = try await place.enqueue("alpha", 2)
        try await place.fail(ids[0]) { .dead($0) }
        let lease = try #require(place.store.lease(ids[1]))
        place.running.withLock { _ = $0.insert(ids[1]) }
        let filter = DeliveryFilter(function: "alpha")
        #expect(try await place.service().perform(.count, filter, after: nil).count == 1)
        #expect(try await place.listed().count == 4)
        #expect(try await place.service().perform(.drop, filter, after: nil) == DeliveryChange(count: 1))
        await #expect {
            try await place.service().perform(.drop, ids[1])
        } throws: {
            ($0 as? DocumentError)?.code == .failedPrecondition
        }
        await #expect {
            try await place.service().perform(.drop, ids[0])
        } throws: {
            ($0 as? DocumentError)?.code == .notFound
        }
        place.store.release(lease)
        #expect(try await place.service().perform(.drop, ids[1]).count == 1)
        #expect(try await place.listed(filter) == [])
        #expect(try await place.listed().count == 2)
        await place.store.shutdown()
    }

    @Test func manyDeliveriesAreWalkedThroughInBoundedPieces() async throws {
        let place = try Place()
        for _ in 0..<6 {
            let tasks = (0..<1000).map { _ in Effect.enqueue(TaskDraft(queue: "beta", body: Array("{}".utf8))) }
            _ = await place.store.perform(.commit([], transaction: nil, completing: nil, effects: tasks))
        }
        let (service, filter) = (place.service(), DeliveryFilter(states: [.waiting]))
        // Nothing of it is meant, and the answer comes before all is looked at.
        let first = try await service.list(filter, after: nil, limit: 10)
        #expect(first.deliveries.isEmpty && first.next != nil)
        #expect(try await place.listed(filter) == [])
        var dropped = 0
        var cursor: String?
        repeat {
            let change = try await service.perform(.drop, DeliveryFilter(), after: cursor)
            #expect(change.count <= 5000)
            dropped += change.count
            cursor = change.next
        } while cursor != nil
        #expect(dropped == 6000)
        await place.store.shutdown()
    }

    @Test func aDocumentsEventIsShownWhole() async throws {
        let place = try Place()
        let write = Write(
            path: try DocumentPath("users/ada"), operation: .set(["n": .integer(1), "bad": .double(.nan)]))
        let context = OperationContext(auth: EventAuth(.appUser, id: "u1"), chain: ["first", "second"])
        _ = await place.store.perform(.commit([write], transaction: nil, completing: nil), in: context)
        let listed = try await place.service().list(DeliveryFilter(), after: nil, limit: 1).deliveries
        let event = try #require(listed.first.flatMap { EventID($0.event) })
        let details = try await place.service().show(DeliveryID(event: event, function: "audit"))
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
        await place.store.shutdown()
    }

    @Test func aTaskIsShownWhole() async throws {
        let place = try Place()
        let id = try await place.enqueue("alpha", name: "order-1")[0]
        try await place.fail(id) { .retry(at: Timestamp(seconds: 1_999_999_999, nanoseconds: 0), $0) }
        let details = try await place.service().show(id)
        #expect(details.delivery.taskName == "order-1" && details.delivery.tries == 1)
        #expect(details.delivery.lastError == "it trapped" && details.delivery.lastStatus == 500)
        #expect(details.event.task?.body == EventReport.Payload(Array(#"{"data":1}"#.utf8)))
        #expect(details.event.task?.body.text == #"{"data":1}"# && details.event.task?.headers == ["X-A": "b"])
        await place.store.shutdown()
    }

    @Test(arguments: ["", "x", "dead/a", "living/a/b", "living/alpha/zzz"])
    func aPlaceThatNoAnswerTellsIsRefused(cursor: String) async throws {
        let place = try Place()
        await #expect(throws: DocumentError.self) {
            try await place.service().list(DeliveryFilter(), after: cursor, limit: 1)
        }
        await place.store.shutdown()
    }
}
