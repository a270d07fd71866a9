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
    ///   - document: as it last was in the result.
    ///   - deleted: whether there is no such document any more; else it is no longer in the result.
    case removed(Document, deleted: Bool)
}

/// What a listener is told. After each event its result is exactly that of the event's time.
package enum ListenEvent: Hashable, Sendable {
    /// The whole result: a query's in its order, documents by path, without those that don't exist.
    case initial([Document], at: Timestamp)
    /// The differences to the time before, which several commits may have made: what was removed, then the rest, each
    /// in the order of the query or by path. The first event of a listener that goes on from a position, where there
    /// may be none.
    case changes([ListenChange], at: Timestamp)
    /// What was told is no longer kept up to date, or can't be gone on from. The listener has ended; a new one without a
    /// position begins anew.
    case startOver(String)
}
