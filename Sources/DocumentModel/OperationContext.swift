/// Whose work is done once only, however often it is asked for.
package struct CompletionKey: Hashable, Sendable {
    /// What the key is unique in: a function and a user.
    package var scope: String
    package var key: String
    /// Of the request's data: the same key with other data is refused.
    package var fingerprint: [UInt8]
    package var keptFor: Duration

    package init(scope: String, key: String, fingerprint: [UInt8], keptFor: Duration = .seconds(7 * 86_400)) {
        self.scope = scope
        self.key = key
        self.fingerprint = fingerprint
        self.keptFor = keptFor
    }
}

/// In whose name an operation is done.
package struct OperationContext: Sendable {
    /// Who holds the transactions begun here: they are for nobody else, and end with
    /// ``DocumentStore/release(owner:)``.
    package var owner: UInt64?
    package var completion: CompletionKey?
    /// What the user may do; nil for an admin.
    package var policy: (any AccessPolicy)?
    /// Who functions are told made the change.
    package var auth: EventAuth
    /// The functions whose handling of events led here, the first one first.
    package var chain: [String]
    /// The delivery that is worked on: commits count only while its lease does, and one with an answer ends it.
    package var delivery: DeliveryLease?
    /// Whether functions are told of changes; what is imported or cleared is none.
    package var firesEvents: Bool

    package init(
        owner: UInt64? = nil, completion: CompletionKey? = nil, policy: (any AccessPolicy)? = nil,
        auth: EventAuth = EventAuth(.serviceAccount), chain: [String] = [], delivery: DeliveryLease? = nil,
        firesEvents: Bool = true
    ) {
        self.owner = owner
        self.completion = completion
        self.policy = policy
        self.auth = auth
        self.chain = chain
        self.delivery = delivery
        self.firesEvents = firesEvents
    }
}
