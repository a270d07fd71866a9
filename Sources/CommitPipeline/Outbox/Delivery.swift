package import DocumentModel

/// A delivery as it is stored.
///
///              written in the commit
///                      │
///          ┌───────────┴───────────┐
///          ▼                       ▼
///       pending ◀── the one ──── waiting     (of an ordered trigger, behind an earlier change)
///        │  ▲ │     before ends
///     fails │ └── succeeds, or is dropped ──▶ gone
///        │  └── retried
///        ▼
///       dead ──▶ retried by hand: pending or waiting; dropped: gone
package struct Delivery: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Due at a time; attempted then or as soon as possible afterwards.
        case pending(due: Timestamp)
        /// Behind an earlier event of its ordering queue.
        case waiting
        /// A dead letter since a time.
        case dead(Timestamp)
    }

    package var id: DeliveryID
    package var state: State
    /// Failed attempts so far: all of them, and those that the handler answered.
    package var failedAttempts = 0
    package var executions = 0
    package var lastError: String?
    /// The HTTP status that stands for the last error.
    package var lastStatus: Int?
    /// When the first attempt began.
    package var firstAttempt: Timestamp?
    /// When an operator last requeued it.
    package var requeued: Timestamp?
    /// The key that orders the function's events, such as a document.
    package var orderKey: [UInt8]?
    /// The task's name in its queue, if it has one.
    package var taskName: String?
    /// Whether the event has other deliveries too, and is removed with the last of them.
    package var isShared = false

    package init(id: DeliveryID, state: State) {
        self.id = id
        self.state = state
    }

    package var due: Timestamp? { if case .pending(let due) = state { due } else { nil } }
    var isDead: Bool { if case .dead = state { true } else { false } }
    /// When the event happened; the delivery was written in the same commit.
    package var created: Timestamp { Timestamp(microseconds: id.event.version) }
    /// The start of the delivery's age: the event's time, or the time when it was requeued.
    package var ageStart: Timestamp { requeued.map { max($0, created) } ?? created }
}

/// The end of a delivery: it was removed, or became a dead letter.
package struct DeliveryEnd: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case succeeded
        /// It was removed without having succeeded.
        case dropped
        case dead
    }

    package var id: DeliveryID
    package var outcome: Outcome
    package var time: Timestamp
    /// Why the last attempt failed, if it did.
    package var error: String?

    package init(id: DeliveryID, outcome: Outcome, time: Timestamp, error: String? = nil) {
        self.id = id
        self.outcome = outcome
        self.time = time
        self.error = error
    }
}

/// A delivery with its event as it is stored.
package struct StoredDelivery: Hashable, Sendable {
    package var delivery: Delivery
    package var event: [UInt8]

    package init(delivery: Delivery, event: [UInt8]) {
        self.delivery = delivery
        self.event = event
    }
}

extension Delivery {
    private static let format: UInt8 = 1
    /// The format of a delivery that was requeued, with the time at the end.
    private static let requeuedFormat: UInt8 = 2

    var row: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 64)
        writer.write(byte: requeued == nil ? Self.format : Self.requeuedFormat)
        switch state {
        case .pending(let due):
            writer.write(byte: 1)
            writer.write(signed: due.microseconds)
        case .waiting: writer.write(byte: 2)
        case .dead(let time):
            writer.write(byte: 3)
            writer.write(signed: time.microseconds)
        }
        writer.write(count: failedAttempts)
        writer.write(count: executions)
        writer.write(optional: lastError) { $0.write($1) }
        writer.write(optional: lastStatus) { $0.write(count: $1) }
        writer.write(optional: firstAttempt) { $0.write(signed: $1.microseconds) }
        writer.write(optional: orderKey) { $0.write(blob: $1) }
        writer.write(optional: taskName) { $0.write($1) }
        writer.write(isShared)
        if let requeued { writer.write(signed: requeued.microseconds) }
        return writer.bytes
    }

    /// - Throws: `DecodingFailure` for a row that this program didn't write.
    init(id: DeliveryID, row: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(row)
        let format = try reader.byte()
        guard format == Self.format || format == Self.requeuedFormat else {
            throw DecodingFailure("a delivery has an unknown format")
        }
        let state: State
        switch try reader.byte() {
        case 1: state = .pending(due: Timestamp(microseconds: try reader.signed()))
        case 2: state = .waiting
        case 3: state = .dead(Timestamp(microseconds: try reader.signed()))
        case let tag: throw DecodingFailure("no delivery has the state \(tag)")
        }
        self.init(id: id, state: state)
        failedAttempts = try reader.size()
        executions = try reader.size()
        lastError = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
        lastStatus = try reader.optional { reader throws(DecodingFailure) in try reader.size() }
        firstAttempt = try reader.optional { reader throws(DecodingFailure) in
            Timestamp(microseconds: try reader.signed())
        }
        orderKey = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
        taskName = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
        isShared = try reader.bool()
        if format == Self.requeuedFormat { requeued = Timestamp(microseconds: try reader.signed()) }
        try reader.finish()
    }
}
