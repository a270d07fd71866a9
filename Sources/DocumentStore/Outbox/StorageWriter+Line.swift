import StorageEngine
import DocumentModel

/// A line holds the deliveries to one function that tell of one document's changes in order, without the dead ones.
///
/// Exactly one of them is pending, and the others wait. It is the first one, unless that was brought back by hand while a
/// later one was worked on.
extension Delivery {
    /// What the keys of its line start with; nil where the order is free.
    var line: [UInt8]? { orderKey.map { OutboxKey.ordered($0, of: id.function) } }
}

extension StorageWriter {
    /// The next in a delivery's line is due, if it was this one's turn.
    ///
    /// - Parameter delivery: as it was before it went or died.
    func leaveLine(_ delivery: Delivery, at now: Timestamp, _ news: inout OutboxNews) throws {
        guard let line = delivery.line else { return }
        switch delivery.state {
        case .dead: return
        case .waiting: try delete(.deliveries, line + OutboxKey.event(delivery.id.event))
        case .pending:
            try delete(.deliveries, line + OutboxKey.event(delivery.id.event))
            guard let head = try first(in: line) else { return }
            try promote(DeliveryID(event: head, function: delivery.id.function), at: now, &news)
        }
    }

    /// A dead letter takes the place in its line again that its event has.
    ///
    /// - Returns: whether it is its turn. It is not where somebody works on one that was before it until now.
    func cutIn(_ delivery: Delivery, _ hold: (DeliveryID) -> Bool, _ news: inout OutboxNews) throws -> Bool {
        guard let line = delivery.line else { return true }
        var isNext = true
        if let event = try first(in: line) {
            let id = DeliveryID(event: event, function: delivery.id.function)
            isNext = false
            // One that waits at the head does so because a later one is worked on.
            if delivery.id.event < event, let head = try readableDelivery(id), head.due != nil, hold(id) {
                var waiting = head
                waiting.state = .waiting
                try take(head)
                try store(waiting)
                news.withdraw(id)
                isNext = true
            }
        }
        try put(.deliveries, line + OutboxKey.event(delivery.id.event), [])
        return isNext
    }

    /// Who stands in line before one whose turn it is.
    func headBefore(_ delivery: Delivery) throws -> DeliveryID? {
        guard let line = delivery.line, let event = try first(in: line), event < delivery.id.event else { return nil }
        return DeliveryID(event: event, function: delivery.id.function)
    }

    /// It is a waiting one's turn.
    func promote(_ id: DeliveryID, at now: Timestamp, _ news: inout OutboxNews) throws {
        // One that can't be read stays where it is, for the check to name.
        guard var next = try readableDelivery(id), next.state == .waiting else { return }
        next.state = .pending(due: now)
        try store(next)
        try tell(next, at: now, &news)
    }
}

extension StorageReader {
    func first(in line: [UInt8]) throws -> EventID? {
        var first: EventID?
        try scanKeys(.deliveries, KeyRange(prefix: line), reverse: false) { key in
            first = try? OutboxKey.event(at: key)
            return false
        }
        return first
    }
}
