import StorageEngine
package import DocumentModel

/// The outcome of an attempt.
package enum DeliveryOutcome: Hashable, Sendable {
    /// The function has handled the event; the delivery is removed.
    case succeeded
    /// The attempt failed; the delivery is retried.
    case retry(at: Timestamp, DeliveryFailure)
    /// The attempt failed and isn't retried; the delivery is kept as a dead letter.
    case dead(DeliveryFailure)
    /// The attempt failed; the delivery is removed.
    case dropped(DeliveryFailure)
}

/// Why an attempt failed.
package struct DeliveryFailure: Hashable, Sendable {
    package var message: String
    /// The HTTP status that stands for it.
    package var status: Int?
    /// Whether the handler answered; otherwise its process ended or wasn't started.
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

/// The delivery that a job is about can't be read at the moment. Nothing was written.
struct UnreadDelivery: Error {
    var error: StorageError
}

/// An outbox operation that runs on the writer's thread, apart from commits.
struct OutboxJob: CommitJob {
    enum Work: Sendable {
        case end(DeliveryLease, DeliveryOutcome, firstAttempt: Timestamp?)
        /// Makes dead and pending deliveries due now, and forgets their attempts.
        case requeue([DeliveryID])
        case drop([DeliveryID])
        /// Leaves alone what was requeued, or became a dead letter, since it was read.
        case dropUnchanged([Delivery])
        /// Leaves alone what was requeued since it was read.
        case deadLetter([Delivery], String)
        /// Makes pending deliveries due that are due too late; see ``Outbox/makeDue(_:notAfter:)``.
        case makeDue([DeliveryID], notAfter: Timestamp)
        /// Stores or removes records of the host, and enqueues runs with them.
        case keep([(name: String, value: [UInt8]?)], runs: [ScheduledRun])
        /// Repairs rows as an ``OutboxAudit`` proposes.
        case repair(StorageTable, [[UInt8]])
    }

    var work: Work
    /// Called with the number of changed deliveries; if runs were enqueued, with the version of their events.
    var completion: @Sendable (Result<Int, DocumentError>) -> Void

    func run(in batch: CommitBatch) throws {
        let result: Result<Int, DocumentError>
        do {
            result = .success(try batch.outbox.perform(work, at: batch.now()))
        } catch let error as DecodingFailure {
            // Rows that can't be read are found before anything is written.
            result = .failure(DocumentError(ofOutbox: error))
        } catch let unread as UnreadDelivery {
            batch.reportUnread(unread.error)
            result = .failure(unread.error.documentError)
        }
        batch.whenDurable { error in
            if let error { fail(error) } else { completion(result) }
        }
    }

    /// What is damaged is then not what the job is about, which may be written later.
    func fail(_ error: DocumentError) {
        completion(.failure(error.code == .dataLoss ? DocumentError(.unavailable, error.message) : error))
    }
}
