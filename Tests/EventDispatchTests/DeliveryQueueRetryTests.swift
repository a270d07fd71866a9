import CommitPipeline
import DocumentModel
import DocumentStore
@testable import EventDispatch
import Testing

/// A failed delivery is retried, whichever comes first: its due time, the notice of it, or the end of its attempt.
struct DeliveryQueueRetryTests {
    private static let start = Timestamp(microseconds: 1_767_323_045_000_000)

    private let event = EventID(version: 1, ordinal: 0)

    private func stored(due: Timestamp) -> StoredDelivery {
        StoredDelivery(
            delivery: Delivery(id: DeliveryID(event: event, function: "f"), state: .pending(due: due)), event: [1])
    }

    /// A queue that works on the event, and has read all else.
    private func working() -> DeliveryQueueState {
        var queue = DeliveryQueueState(limits: .init(concurrency: 10))
        _ = queue.opened(now: Self.start)
        _ = queue.read(.init(deliveries: [stored(due: Self.start)]), now: Self.start)
        #expect(queue.isInFlight(event))
        return queue
    }

    private func reads(_ actions: [DeliveryQueueState.Action]) -> [Set<EventID>] {
        actions.compactMap { if case .read(let request) = $0 { request.except } else { nil } }
    }

    @Test func itsTimeComesBeforeTheNewsOfIt() {
        var queue = working()
        let due = Self.start.after(seconds: 0.01)
        let late = Self.start.after(seconds: 0.02)
        #expect(reads(queue.arrived([], later: due, now: late)) == [[event]])
        #expect(reads(queue.ended(event, due: due, now: late)) == [])
        // What was read has left it out.
        #expect(reads(queue.read(.init(), now: late)) == [[]])
        #expect(queue.read(.init(deliveries: [stored(due: due)]), now: late) == [.start(stored(due: due))])
    }

    @Test func itsTimeComesBeforeTheNewsAndThatIsReadBeforeTheTryEnds() {
        var queue = working()
        let due = Self.start.after(seconds: 0.01)
        let late = Self.start.after(seconds: 0.02)
        #expect(reads(queue.arrived([], later: due, now: late)) == [[event]])
        #expect(reads(queue.read(.init(), now: late)) == [])
        #expect(reads(queue.ended(event, due: due, now: late)) == [[]])
    }

    @Test func itIsDueAsItIsWritten() {
        var queue = working()
        #expect(reads(queue.arrived([stored(due: Self.start)], later: nil, now: Self.start)) == [[event]])
        #expect(reads(queue.read(.init(), now: Self.start)) == [])
        #expect(reads(queue.ended(event, due: Self.start, now: Self.start)) == [[]])
    }
}
