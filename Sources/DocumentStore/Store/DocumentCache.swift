import DocumentModel
import Synchronization

/// The newest state of documents that were read lately, for reads that have no policy: what passes between threads for
/// the read of a document costs more than the document.
///
/// What is here holds in every state from the last commit's on. What a batch changes isn't here from before the batch is
/// durable until after: otherwise a caller that has seen the new state elsewhere could be given the old one.
final class DocumentCache: Sendable {
    enum Finding {
        case found([Document?], version: Int64)
        /// - Parameter reservation: for what a reader will find instead; nil if it isn't wanted.
        case missing(Reservation?)
    }

    /// The right to add what is read after it was given, unless it has changed by then.
    struct Reservation: Sendable {
        fileprivate let number: UInt64
    }

    /// The state of one document; nil if it doesn't exist.
    private struct Entry {
        var document: Document?
        var bytes: Int
    }

    private struct State {
        /// The version of the last durable commit.
        var version: Int64
        /// What was read since the last turn, and what was read only before it.
        var recent: [DocumentPath: Entry] = [:]
        var earlier: [DocumentPath: Entry] = [:]
        var recentBytes = 0
        var reserved: [DocumentPath: UInt64] = [:]
        var reservations: UInt64 = 0
        /// What the open batch changes, and whether it was here.
        var changing: [DocumentPath: Bool] = [:]
        var isClosed = false

        mutating func find(_ path: DocumentPath, turnAt limit: Int) -> Entry? {
            if let entry = recent[path] { return entry }
            guard let entry = earlier.removeValue(forKey: path) else { return nil }
            add(entry, path, turnAt: limit)
            return entry
        }

        mutating func add(_ entry: Entry, _ path: DocumentPath, turnAt limit: Int) {
            earlier[path] = nil
            if let old = recent.updateValue(entry, forKey: path) { recentBytes -= old.bytes }
            recentBytes += entry.bytes
            if recentBytes > limit { (earlier, recent, recentBytes) = (recent, [:], 0) }
        }

        /// - Returns: whether it was here.
        mutating func remove(_ path: DocumentPath) -> Bool {
            reserved[path] = nil
            if let entry = recent.removeValue(forKey: path) {
                recentBytes -= entry.bytes
                return true
            }
            return earlier.removeValue(forKey: path) != nil
        }
    }

    /// Reads of more documents, and larger documents, cost more than what they would be spared.
    private static let maxDocuments = 10
    private static let maxDocumentBytes = 16 * 1024
    private static let maxReservations = 10_000

    private let maxBytes: Int
    private let state: Mutex<State>

    /// - Parameter maxBytes: what all documents may take in memory, about.
    init(version: Int64, maxBytes: Int) {
        self.maxBytes = maxBytes
        state = Mutex(State(version: version))
    }

    /// About the memory that the documents take.
    var bytes: Int {
        state.withLock { $0.recentBytes + $0.earlier.values.reduce(0) { $0 + $1.bytes } }
    }

    // MARK: Reads

    /// The documents, all in one state, which is none before the call.
    func find(_ paths: [DocumentPath]) -> Finding {
        guard paths.count <= Self.maxDocuments else { return .missing(nil) }
        return state.withLock { state in
            guard !state.isClosed else { return .missing(nil) }
            var documents: [Document?] = []
            documents.reserveCapacity(paths.count)
            for path in paths {
                guard let entry = state.find(path, turnAt: maxBytes / 2) else {
                    return .missing(reserve(paths, &state))
                }
                documents.append(entry.document)
            }
            return .found(documents, version: state.version)
        }
    }

    private func reserve(_ paths: [DocumentPath], _ state: inout State) -> Reservation? {
        guard state.reserved.count < Self.maxReservations else { return nil }
        state.reservations += 1
        // Not instead of an earlier one: of many reads at a time, the last would always be yet to come.
        for path in paths where state.reserved[path] == nil && state.changing[path] == nil && state.recent[path] == nil {
            state.reserved[path] = state.reservations
        }
        return Reservation(number: state.reservations)
    }

    /// Ends a reservation.
    ///
    /// - Parameter documents: what was read; nil if nothing was.
    func settle(_ reservation: Reservation, _ paths: [DocumentPath], _ documents: [Document?]?) {
        let sizes = documents?.map { $0?.weight ?? 0 }
        state.withLock { state in
            for (index, path) in paths.enumerated() where state.reserved[path] == reservation.number {
                state.reserved[path] = nil
                guard let documents, let sizes, sizes[index] <= Self.maxDocumentBytes, !state.isClosed else { continue }
                let bytes = 256 + path.string.utf8.count + sizes[index]
                state.add(Entry(document: documents[index], bytes: bytes), path, turnAt: maxBytes / 2)
            }
        }
    }

    // MARK: Commits

    /// Called before the changes become durable.
    func willChange(_ changes: some Sequence<DocumentPath>) {
        state.withLock { state in
            for path in changes {
                let wasHere = state.remove(path)
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
            guard !state.isClosed else { return }
            for (path, document) in states {
                let size = document?.weight ?? 0
                guard size <= Self.maxDocumentBytes else { continue }
                let bytes = 256 + path.string.utf8.count + size
                state.add(Entry(document: document, bytes: bytes), path, turnAt: maxBytes / 2)
            }
        }
    }

    /// Called when nothing of the batch was kept.
    func rolledBack() { state.withLock { $0.changing = [:] } }

    func close() {
        state.withLock { state in
            state.isClosed = true
            (state.recent, state.earlier, state.recentBytes, state.reserved) = ([:], [:], 0, [:])
        }
    }
}
