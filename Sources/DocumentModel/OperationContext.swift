/// An idempotency key: work under it is done once, however often it is requested.
package struct CompletionKey: Hashable, Sendable {
    /// The scope in which the key is unique: a function and a user.
    package var scope: String
    package var key: String
    /// The fingerprint of the request's data: the same key with other data is refused.
    package var fingerprint: [UInt8]
    package var keptFor: Duration

    package init(scope: String, key: String, fingerprint: [UInt8], keptFor: Duration = .seconds(7 * 86_400)) {
        self.scope = scope
        self.key = key
        self.fingerprint = fingerprint
        self.keptFor = keptFor
    }
}

/// On whose behalf an operation is done, and what it may do.
package struct OperationContext: Sendable {
    /// The owner of the transactions begun here. Other owners can't use them; they end with
    /// ``DocumentBackend/release(owner:)``.
    package var owner: UInt64?
    package var completion: CompletionKey?
    /// What the user may do; nil for an admin.
    package var policy: (any AccessPolicy)?
    /// The author of the change, as events name it.
    package var auth: EventAuth
    /// The functions whose handling of events led to this operation, in order.
    package var chain: [String]
    /// The lease of the delivery being handled: commits fail once it has ended, and a commit with an answer ends it.
    package var delivery: DeliveryLease?
    /// Whether changes trigger functions. Imports and clears don't.
    package var firesEvents: Bool
    /// Tells whether the caller still waits; nil if it always does.
    package var cancellation: OperationCancellation?
    /// Whether the caller retries a transaction only if its commit is aborted, and reads again by itself what an earlier
    /// attempt has read: as Firebase's client libraries do.
    package var retriesCommitsOnly = false
    /// Bounds the answer; nil if only the store's own limits do.
    package var answer: (any AnswerBytes)?

    package init(
        owner: UInt64? = nil, completion: CompletionKey? = nil, policy: (any AccessPolicy)? = nil,
        auth: EventAuth = EventAuth(.serviceAccount), chain: [String] = [], delivery: DeliveryLease? = nil,
        firesEvents: Bool = true, cancellation: OperationCancellation? = nil, answer: (any AnswerBytes)? = nil
    ) {
        self.owner = owner
        self.completion = completion
        self.policy = policy
        self.auth = auth
        self.chain = chain
        self.delivery = delivery
        self.firesEvents = firesEvents
        self.cancellation = cancellation
        self.answer = answer
    }
}
