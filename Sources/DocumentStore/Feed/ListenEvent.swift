package import DocumentModel

/// What a listener listens to.
package enum ListenTarget: Hashable, Sendable {
    case documents(Set<DocumentPath>)
    /// The result of a query, with all of its limits and in its order.
    case query(Query)
}

/// How one document's place in a listener's result changed.
package enum ListenChange: Hashable, Sendable {
    case added(Document)
    case modified(Document)
    /// - Parameters:
    ///   - document: its last state in the result.
    ///   - deleted: true if the document doesn't exist any more; false if it only left the result.
    ///   - now: the state with which it left, if that is known, soon found to be allowed, and not one of too many. A
    ///     document that others have pushed out has none.
    case removed(Document, deleted: Bool, now: Document? = nil)
}

/// An event that a listener receives. After each event its result is exactly that of the event's time.
package enum ListenEvent: Hashable, Sendable {
    /// The whole result: a query's in its order, or documents by path, without those that don't exist.
    case initial([Document], at: Timestamp)
    /// The differences since the previous event, which several commits may have made: first what was removed, then the
    /// rest, each in the order of the query or by path. It is the first event of a listener that continues from a
    /// position; the differences may be empty then.
    case changes([ListenChange], at: Timestamp)
    /// How many documents the result has after the events before: for a listener that continues from a position, and asked
    /// for it, after its first event.
    case count(Int, at: Timestamp)
    /// The result is no longer kept up to date, or the position can't be continued from. The listener has ended; a new
    /// one without a position starts from the beginning.
    case startOver(String)
}
