import StorageEngine
package import DocumentModel

/// The outcome of a try.
package enum DeliveryOutcome: Hashable, Sendable {
    /// The function has handled the event; the delivery is removed.
    case succeeded
    /// It failed and is tried again.
    case retry(at: Timestamp, DeliveryFailure)
    /// It failed for good and is kept among the dead letters.
    case dead(DeliveryFailure)
    /// It failed and is removed.
    case dropped(DeliveryFailure)
}

/// Why a try failed.
package struct DeliveryFailure: Hashable, Sendable {
    package var message: String
    /// The HTTP status that stands for it.
    package var status: Int?
    /// Whether the handler answered; else its process ended, or wasn't started.
    package var wasExecuted: Bool

    package init(_ message: String, status: Int? = nil, wasExecuted: Bool = true) {
        self.message = message
        self.status = status
        self.wasExecuted = wasExecuted
    }
}

/// A run of a scheduled job.
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
struct OutboxJob: CommitJob {
    enum Work: Sendable {
        case end(DeliveryLease, DeliveryOutcome, firstTry: Timestamp?)
        /// Makes dead and pending deliveries due now, their tries forgotten.
        case requeue([DeliveryID])
        case drop([DeliveryID])
        case deadLetter([DeliveryID], String)
        /// Stores or removes records of the host, and enqueues runs with them.
        case keep([(name: String, value: [UInt8]?)], runs: [ScheduledRun])
        /// Repairs rows as an ``OutboxAudit`` says.
        case repair(StorageTable, [[UInt8]])
    }

    var work: Work
    /// Called with the number of deliveries that were changed; if runs were enqueued, with the version of their events.
    var completion: @Sendable (Result<Int, DocumentError>) -> Void

    func run(in batch: CommitBatch) throws {
        let result: Result<Int, DocumentError>
        do {
            result = .success(try batch.outbox.perform(work, at: batch.now()))
        } catch let error as DecodingFailure {
            // Rows that can't be read are found before anything is written.
            result = .failure(DocumentError(from: error))
        }
        batch.whenDurable { completion($0.map { .failure($0) } ?? result) }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}
