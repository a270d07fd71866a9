package import DocumentModel
package import StorageEngine

/// One commit: parts of one or more kinds of data, and their consequences. All of it is kept, or nothing.
package struct Commit {
    package var parts: [any CommitPart]
    /// The caller's response, which is stored under the commit's idempotency key and completes its delivery.
    package var answer: [UInt8]?
    package var effects: [Effect]
    package var context: OperationContext

    package init(
        _ parts: [any CommitPart], answer: [UInt8]? = nil, effects: [Effect] = [],
        in context: OperationContext = OperationContext()
    ) {
        self.parts = parts
        self.answer = answer
        self.effects = effects
        self.context = context
    }
}

/// The part of a commit that concerns one kind of data.
///
/// All parts of a commit are validated, one after the other, before any is applied: if a part refuses the commit, the
/// others leave no trace.
package protocol CommitPart: AnyObject {
    /// Ends the transaction that this part commits, if there is one.
    ///
    /// - Parameter commit: the whole commit. Its context applies to every part.
    /// - Returns: the transaction's idempotency key; nil if it has none.
    /// - Throws: `DocumentError` to refuse the commit.
    func begin(_ commit: Commit) throws -> CompletionKey?

    /// Computes the changes without writing anything.
    ///
    /// - Parameters:
    ///   - version: the version that the commit gets.
    ///   - routes: those by which the commit's events are delivered.
    /// - Throws: `DocumentError` to refuse the commit, or `StorageError`: one of rows that can't be read
    ///   (`StorageError.isOfRows`) refuses the commit too, with any other the batch can't go on.
    func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws

    /// Stores the changes. A part that has changed anything claims the version.
    ///
    /// - Parameter storage: for the kind's own rows, during the call only.
    /// - Throws: if the batch must not be kept.
    func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws

    /// The events of the changes, in order. Called once the changes are applied, if the commit may cause events.
    ///
    /// - Parameter routes: the routes of the whole commit, which contain the kind's triggers.
    func events(by routes: EventRoutes) -> [CausedEvent]

    /// Called when the commit was applied, completed before or refused.
    func end(_ outcome: CommitOutcome)
}

extension CommitPart {
    package func begin(_ commit: Commit) throws -> CompletionKey? { nil }
    package func events(by routes: EventRoutes) -> [CausedEvent] { [] }
    package func end(_ outcome: CommitOutcome) {}
}

/// The outcome of a commit in its batch.
package enum CommitOutcome: Hashable, Sendable {
    /// The state of this version contains it, once the batch is durable.
    case applied(version: Int64)
    /// Its idempotency key has been used before.
    case completedBefore(KeptAnswer)
    case refused(DocumentError)
}

/// An event that a commit's changes cause, with the functions that it is delivered to.
package struct CausedEvent: Sendable {
    package struct Receiver: Sendable {
        package var function: String
        /// The key that orders the function's events; nil if they aren't ordered.
        package var orderKey: [UInt8]?

        package init(function: String, orderKey: [UInt8]? = nil) {
            self.function = function
            self.orderKey = orderKey
        }
    }

    package var content: Event.Content
    /// Each function at most once.
    package var receivers: [Receiver]

    package init(_ content: Event.Content, for receivers: [Receiver]) {
        self.content = content
        self.receivers = receivers
    }
}
