/// Something that happened and is delivered to functions.
package struct Event: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A document before and after a commit; nil if it didn't exist.
        case document(DocumentPath, before: Document?, after: Document?)
        /// A scheduled job's run. The event's time is when the run was due.
        case schedule(job: String, isManual: Bool)
        case task(TaskDraft)
        case custom(CloudEvent)
        /// A node of the Realtime Database before and after a commit.
        case reference(ReferenceChange)
    }

    package var id: EventID
    package var time: Timestamp
    package var auth: EventAuth
    /// The chain of functions whose event handling led to this event, oldest first.
    package var chain: [String]
    package var content: Content

    package init(id: EventID, time: Timestamp, auth: EventAuth, chain: [String] = [], content: Content) {
        self.id = id
        self.time = time
        self.auth = auth
        self.chain = chain
        self.content = content
    }
}

/// One attempt to deliver an event to a function: the body of its invocation.
package struct DeliveryAttempt: Hashable, Sendable {
    /// The stored encoding, so that the host passes it on without decoding it.
    package var event: [UInt8]
    /// The number of earlier attempts: all of them, and those that a handler completed.
    package var retryCount: Int
    package var executionCount: Int
    /// The HTTP status and the error of the previous attempt; nil for the first attempt.
    package var previousResponse: Int?
    package var retryReason: String?

    package init(
        event: [UInt8], retryCount: Int, executionCount: Int = 0, previousResponse: Int? = nil,
        retryReason: String? = nil
    ) {
        self.event = event
        self.retryCount = retryCount
        self.executionCount = executionCount
        self.previousResponse = previousResponse
        self.retryReason = retryReason
    }
}
