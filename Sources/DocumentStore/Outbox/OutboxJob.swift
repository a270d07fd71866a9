import StorageEngine
package import DocumentModel

/// What a try at a delivery came to.
package enum DeliveryOutcome: Hashable, Sendable {
    /// The function was told; the delivery goes.
    case succeeded
    /// It failed and is tried again.
    case retry(at: Timestamp, DeliveryFailure)
    /// It failed for good and is kept among the dead letters.
    case dead(DeliveryFailure)
    /// It failed and goes.
    case dropped(DeliveryFailure)
}

/// Why a try failed.
package struct DeliveryFailure: Hashable, Sendable {
    package var message: String
    /// The HTTP status that stands for it.
    package var status: Int?
    /// Whether a handler answered; else its process ended, or it wasn't started.
    package var wasExecuted: Bool

    package init(_ message: String, status: Int? = nil, wasExecuted: Bool = true) {
        self.message = message
        self.status = status
        self.wasExecuted = wasExecuted
    }
}

/// A job's run that is to be delivered.
package struct ScheduledRun: Hashable, Sendable {
    package var function: String
    package var due: Timestamp
    package var isManual: Bool

    package init(function: String, due: Timestamp, isManual: Bool = false) {
        self.function = function
        self.due = due
        self.isManual = isManual
    }
}

/// What the writer does to the outbox besides commits.
struct OutboxJob: Sendable {
    enum Work: Sendable {
        case end(DeliveryLease, DeliveryOutcome, firstTry: Timestamp?)
        /// Makes dead and pending deliveries due now, their tries forgotten.
        case retry([DeliveryID])
        case drop([DeliveryID])
        /// Gives up deliveries that nobody works on.
        case bury([DeliveryID], String)
        /// Stores records of the host, or removes them, together with runs that they tell of.
        case keep([(name: String, value: [UInt8]?)], runs: [ScheduledRun])
        /// Puts right what an ``OutboxAudit`` finds wrong with rows.
        case mend(StorageTable, [[UInt8]])
    }

    var work: Work
    /// Told how many deliveries it concerned; where runs were stored, the version that names their events.
    var completion: @Sendable (Result<Int, DocumentError>) -> Void
}
