/// Something that happened and that functions are to be told of.
package struct Event: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A document before and after a commit; nil where there is none.
        case document(DocumentPath, before: Document?, after: Document?)
        /// A job's run. Its time is when it was due.
        case schedule(job: String, isManual: Bool)
        case task(TaskDraft)
        case custom(CloudEvent)
    }

    package var id: EventID
    package var time: Timestamp
    package var auth: EventAuth
    /// The functions whose handling of events led here, the first one first.
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

/// One try to tell a function of an event: the body of its invocation.
package struct DeliveryAttempt: Hashable, Sendable {
    /// As it is stored, so that the host hands it on without reading it.
    package var event: [UInt8]
    /// Tries before this one: all of them, and those that a handler answered.
    package var retryCount: Int
    package var executionCount: Int
    /// The HTTP status that the try before ended with, and why; nil at first.
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
