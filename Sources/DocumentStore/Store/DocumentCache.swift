import DocumentModel
import Sharing
import Synchronization

/// The newest state of documents that were read lately, for reads that have no policy: what passes between threads for
/// the read of a document costs more than the document.
///
/// What is here holds in every state from the last commit's on. What a batch changes isn't here from before the batch is
/// durable until after: otherwise a caller that has seen the new state elsewhere could be given the old one.
final class DocumentCache: Sendable {
    enum Finding {
        case found([Known], version: Int64)
        /// - Parameter reservation: for what a reader will find instead; nil if it isn't wanted.
        case missing(Reservation?)
    }

    /// The state of one document.
    struct Known: Sendable {
        /// Nil if it doesn't exist.
        let document: Document?
        let weight: Int
    }

    /// The right to add what is read after it was given, unless it has changed by then.
    struct Reservation: Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        /// The version of the last durable commit.
        var version: Int64
        var known: RecentMap<DocumentPath, Known>
        var reserved: [DocumentPath: UInt64] = [:]
        var reservations: UInt64 = 0
        /// What the open batch changes, and whether it was here.
        var changing: [DocumentPath: Bool] = [:]
        var isClosed = false

        mutating func add(_ document: Document?, weight: Int, _ path: DocumentPath) {
            guard weight <= DocumentCache.maxDocumentBytes, !isClosed else { return }
            known.set(
                Known(document: document, weight: weight), bytes: 256 + path.string.utf8.count + weight, for: path)
        }
    }

    /// Reads of more documents, and larger documents, cost more than what they would be spared.
    private static let maxDocuments = 10
    private static let maxDocumentBytes = 16 * 1024
    private static let maxReservations = 10_000

    private let state: Mutex<State>

    /// - Parameter maxBytes: what all documents may take in memory, about.
    init(version: Int64, maxBytes: Int) {
        state = Mutex(State(version: version, known: RecentMap(maxBytes: maxBytes)))
    }

    /// About the memory that the documents take.
    var bytes: Int { state.withLock { $0.known.bytes } }

    // MARK: Reads

    /// The documents in one state, which is at least as new as the call.
    func find(_ paths: [DocumentPath]) -> Finding {
        guard paths.count <= Self.maxDocuments else { return .missing(nil) }
        return state.withLock { state in
            guard !state.isClosed else { return .missing(nil) }
            var found: [Known] = []
            found.reserveCapacity(paths.count)
            for path in paths {
                guard let known = state.known.use(path) else { return .missing(reserve(paths, &state)) }
                found.append(known)
            }
            return .found(found, version: state.version)
        }
    }

    private func reserve(_ paths: [DocumentPath], _ state: inout State) -> Reservation? {
        guard state.reserved.count < Self.maxReservations else { return nil }
        state.reservations += 1
        // Not instead of an earlier one: of many reads at a time, the last would always be yet to come.
        for path in paths where state.reserved[path] == nil && state.changing[path] == nil {
            state.reserved[path] = state.reservations
        }
        return Reservation(number: state.reservations)
    }

    /// Ends a reservation.
    ///
    /// - Parameter documents: what was read; nil if nothing was.
    func settle(_ reservation: Reservation, _ paths: [DocumentPath], _ documents: [Document?]?) {
        let weights = documents?.map { $0?.weight ?? 0 }
        state.withLock { state in
            for (index, path) in paths.enumerated() where state.reserved[path] == reservation.number {
                state.reserved[path] = nil
                if let documents, let weights { state.add(documents[index], weight: weights[index], path) }
            }
        }
    }

    // MARK: Commits

    /// Called before the changes become durable.
    func willChange(_ changes: some Sequence<DocumentPath>) {
        state.withLock { state in
            for path in changes {
                state.reserved[path] = nil
                let wasHere = state.known.remove(path)
                state.changing[path] = wasHere || state.changing[path] ?? false
            }
        }
    }

    /// Called once the batch is durable, before anyone is told.
    ///
    /// - Parameter documents: the last states of what has changed.
    func committed(_ documents: some Sequence<(path: DocumentPath, state: Document?)>, version: Int64) {
        state.withLock { state in
            state.version = version
            var states: [DocumentPath: Document?] = [:]
            for (path, document) in documents where state.changing[path] ?? false { states[path] = .some(document) }
            state.changing = [:]
            for (path, document) in states { state.add(document, weight: document?.weight ?? 0, path) }
        }
    }

    /// Called when nothing of the batch was kept.
    func rolledBack() { state.withLock { $0.changing = [:] } }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.known.removeAll()
            state.reserved = [:]
        }
    }
}
