import DocumentModel
import StorageEngine

/// Where the ordering queues begin, as far as that is known.
///
/// Engines that write logs keep deleted keys for a while, and scans pass them one by one. With this, a look for the first place of
/// a queue doesn't pass all that have left it before.
///
/// Used on the writer's thread.
final class OrderingQueues {
    /// By the prefix of the queue's keys: no place is before the event.
    private var starts: [[UInt8]: EventID] = [:]

    /// The start of an empty queue.
    private static let never = EventID(version: .max, ordinal: .max)
    /// The queues that are known at most. Others are looked for as if nothing were known.
    private static let capacity = 2000

    /// The event of the first place in a queue.
    func first(in queue: [UInt8], _ storage: any StorageReader) throws -> EventID? {
        let start = starts[queue]
        guard start != Self.never else { return nil }
        let first = try storage.first(in: queue, from: start)
        note(first ?? Self.never, of: queue)
        return first
    }

    /// Adds a place to a queue.
    func put(_ event: EventID, in queue: [UInt8], _ storage: any StorageWriter) throws {
        try storage.put(.deliveries, queue + OutboxKey.event(event), [])
        if let start = starts[queue] { note(min(start, event), of: queue) }
    }

    /// Forgets what may not be so any more: nothing of a batch was kept, or rows are repaired.
    func forget() { starts = [:] }

    private func note(_ start: EventID, of queue: [UInt8]) {
        if starts[queue] == nil, starts.count >= Self.capacity { starts = [:] }
        starts[queue] = start
    }
}

extension StorageReader {
    /// - Parameter start: an event that no place of the queue is before.
    func first(in queue: [UInt8], from start: EventID? = nil) throws -> EventID? {
        var range = KeyRange(prefix: queue)
        if let start { range.lower = queue + OutboxKey.event(start) }
        var first: EventID?
        try scanKeys(.deliveries, range, reverse: false) { key in
            // The check reports a place that isn't one.
            guard key.count == queue.count + OutboxKey.eventLength else { return true }
            first = try OutboxKey.event(at: key)
            return false
        }
        return first
    }
}
