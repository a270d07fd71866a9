import DocumentModel

/// The states after a round of the documents that changed in it, for listeners whose results they have left.
///
/// SDKs that have only an earlier state take the document for one of the result, show that as from their cache, and
/// listen to the document by itself until they have its state.
struct LeftDocuments {
    private let changes: () -> [DocumentChange]
    /// Nil for those that don't exist. From all changes: the last one of a document needn't concern a listener.
    private lazy var states: [DocumentPath: Document?] = changes().reduce(into: [:]) { states, change in
        states.updateValue(change.after, forKey: change.path)
    }
    /// How many more are looked at in the round: many that leave at once, or many listeners, would keep the thread. An
    /// SDK that isn't sent a state asks for it.
    private var left = 1_000

    init(_ changes: [RecentChanges.Entry]) { self.changes = { changes.map(\.change) } }

    init(_ changes: [DocumentChange]) { self.changes = { changes } }

    /// The event with the states that a listener may have.
    ///
    /// - Parameter isAllowed: called for each.
    mutating func added(
        to event: SizedEvent, of target: ListenerTarget, isAllowed: (Document) -> Bool
    ) -> SizedEvent {
        // Removed documents come first.
        guard case .changes(var effect, let time) = event.event, case .removed? = effect.first else { return event }
        let query: NormalizedQuery
        switch target {
        // From these, documents are only deleted.
        case .documents: return event
        case .query(let whole): query = whole
        case .window(let window): query = window.query
        }
        var (added, isChanged) = (0, false)
        for (index, change) in effect.enumerated() {
            // Also to look at those that don't come with a state takes time, once for each listener.
            guard left > 0, case .removed(let document, let isDeleted, _) = change else { break }
            left -= 1
            guard !isDeleted, let state = states[document.path] else { continue }
            if let now = state {
                guard isAllowed(now) else { continue }
                let projected = query.project(now)
                effect[index] = .removed(document, deleted: false, now: projected)
                added += projected.weight
            } else {
                // By a later commit of the round.
                effect[index] = .removed(document, deleted: true)
            }
            isChanged = true
        }
        // The size of the others was found once for all listeners.
        return isChanged ? SizedEvent(.changes(effect, at: time), bytes: event.bytes + added) : event
    }
}
