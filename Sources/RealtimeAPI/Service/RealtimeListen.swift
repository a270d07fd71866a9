package import RealtimeHashing
package import RealtimeModel

/// What a listen asks for.
package struct RealtimeListen: Sendable {
    package var path: RealtimePath
    /// Nil for the value as it is.
    package var query: RealtimeQuery?
    /// What the client already has; nil for nothing.
    package var known: Known?
    package var form: RealtimeForm
    /// Whether a query without an index is refused. If not, the first event says that there was none.
    package var requiresIndex = false
    /// Whether a stream's units are counted.
    package var countsUnits = false

    package init(
        _ path: RealtimePath, query: RealtimeQuery? = nil, known: Known? = nil, form: RealtimeForm,
        requiresIndex: Bool = false, countsUnits: Bool = false
    ) {
        self.path = path
        self.query = query
        self.known = known
        self.form = form
        self.requiresIndex = requiresIndex
        self.countsUnits = countsUnits
    }

    package struct Known: Hashable, Sendable {
        /// Never empty: that is what a client without data sends.
        package var hash: String
        package var compound: RealtimeCompoundHash?

        package init(hash: String, compound: RealtimeCompoundHash? = nil) {
            self.hash = hash
            self.compound = compound
        }
    }
}

/// An event of a listen.
package enum RealtimeListenEvent: Sendable {
    /// The first event: the listen is allowed.
    case began(RealtimeListenStart)
    /// One commit, or one batch of commits for a query.
    case push(RealtimePush)
    /// The last event: the listen was refused, or is revoked.
    case ended(RealtimeServiceError)
}

/// The state that a listen starts with.
package struct RealtimeListenStart: Sendable {
    package enum Data: Sendable {
        /// The client has it already.
        case unchanged
        case value(RealtimeContent)
        /// The ranges that differ from the client's compound hash, as a list in JSON.
        case ranges(RealtimeContent)
    }

    package var data: Data
    /// Whether the query was answered by an index.
    package var isIndexed: Bool

    package init(_ data: Data, isIndexed: Bool = true) {
        self.data = data
        self.isIndexed = isIndexed
    }
}

/// Receives a listen's events.
package protocol RealtimeListener: AnyObject, Sendable {
    /// Called on any thread, one call after the other. It doesn't block.
    func receive(_ event: RealtimeListenEvent)
}

/// A running listen, as its service keeps it.
package protocol RealtimeListening: AnyObject, Sendable {
    /// Decides again, by the current rules, whether the listen is allowed, now in the name of another principal. If it isn't,
    /// its last event comes before the completion.
    func authorize(as principal: RealtimePrincipal, _ completion: @escaping @Sendable () -> Void)

    /// Ends the listen. Events that are on their way may still come.
    func cancel()
}
