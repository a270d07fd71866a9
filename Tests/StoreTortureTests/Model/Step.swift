import DocumentModel
import DocumentStore

/// One step of a random run, complete in itself: any of them may be left out and the rest still makes sense.
///
/// Transactions are called by a slot; a step on a slot that isn't open does nothing.
enum Step: Sendable {
    case commit([PlannedWrite], slot: Int?)
    /// Writes that stand for themselves.
    case writeEach([PlannedWrite])
    case get([DocumentPath], Seen)
    case query(Query, Seen)
    case aggregate(Query, [AggregateField], Seen)
    /// Places that split a query.
    case partition(Query, points: Int)
    /// A query answered, and explained as well.
    case explain(Query)
    /// - Parameter mode: nil for one that writes.
    case begin(slot: Int, readOnly: ReadOnly?)
    /// Tries the transaction again that was aborted in the slot.
    case retry(slot: Int)
    case rollback(slot: Int)
    /// Moves both clocks; only the wall clock goes back.
    case wait(seconds: Int64)
    case reopen
    case configure(IndexConfiguration)
    case listen(slot: Int, ListenTarget)
    /// Takes what a listener has to tell, or goes on with one that was left.
    case follow(slot: Int)
    case leave(slot: Int)
    case feed(pageBytes: Int)
    /// Waits until all indexes are built or dropped.
    case indexesAreDone

    /// Which state a read is to see.
    enum Seen: Hashable, Sendable {
        case newest
        case inside(slot: Int)
        case at(Moment)
    }

    enum ReadOnly: Hashable, Sendable {
        case atItsFirstRead
        case at(Moment)
    }

    /// A time, named by the commits before it.
    enum Moment: Hashable, Sendable {
        /// The last commit but some, a few microseconds later or earlier.
        case commit(back: Int, plus: Int64)
        /// What the wall clock says, or later.
        case now(plus: Int64)
    }
}

/// A write whose precondition is worked out when its turn has come.
struct PlannedWrite: Sendable {
    enum Guard: Sendable {
        case none, exists, missing
        /// The update time that the document has, or one that it had not.
        case current, stale
    }

    var write: Write
    var condition: Guard

    func resolved(in state: ModelStateView) -> Write {
        var write = write
        switch condition {
        case .none: break
        case .exists: write.precondition = .exists(true)
        case .missing: write.precondition = .exists(false)
        case .current: write.precondition = .updateTime(state.updateTime(write.path))
        case .stale:
            write.precondition = .updateTime(Timestamp(microseconds: state.updateTime(write.path).microseconds - 1))
        }
        return write
    }
}

/// What a planned write has to know of the present.
struct ModelStateView {
    let documents: [DocumentPath: Document]

    func updateTime(_ path: DocumentPath) -> Timestamp { documents[path]?.updateTime ?? Timestamp(microseconds: 0) }
}
