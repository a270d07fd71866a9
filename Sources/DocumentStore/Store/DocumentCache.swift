import DocumentModel
import Sharing
import Synchronization

/// The newest states of documents that were read more than once lately, and a way to those that were changed lately.
///
/// What passes between threads for the read of a document costs more than the document. Every state here is current as of
/// the last durable commit. A document leaves the cache before its change becomes durable, and returns afterwards: otherwise
/// a caller that has seen the new state elsewhere could be given the old one.
final class DocumentCache: Sendable {
    /// The state of one document.
    struct Known: Sendable {
        /// Nil if it doesn't exist.
        let document: Document?
        /// As a ``ReadBudget`` counts it.
        let weight: Int

        init(_ document: Document?, at path: DocumentPath) {
            self.document = document
            weight = document?.weight ?? ReadBudget.weight(ofMissing: path)
        }
    }

    /// What is found for a read, in one state of all documents.
    struct Found: Sendable {
        let documents: [Known]
        let version: Int64
    }

    /// Larger reads would gain little, and larger answers would hold up the caller's thread.
    private static let maxDocuments = 10
    fileprivate static let maxAnswerBytes = 16 * 1024

    private let state: Mutex<State>
    /// The newest version that any read has seen, which may be that of a commit whose callers have no answer yet.
    private let seen: Atomic<Int64>

    /// - Parameter maxBytes: what all documents may take in memory, about.
    init(version: Int64, maxBytes: Int) {
        state = Mutex(State(version: version, maxBytes: maxBytes))
        seen = Atomic(version)
    }

    /// About the memory that the documents take.
    var bytes: Int { state.withLock { $0.known.bytes } }

    // MARK: Reads

    /// The documents, in a state at least as new as the call; nil unless all are known.
    ///
    /// - Parameter changed: a document that isn't in the cache, after its last change; nil if that isn't known or came
    ///   after the version, and also if it isn't durable yet. It must know of a change before ``willChange(_:)`` is called.
    func find(
        _ paths: [DocumentPath], changed: (_ path: DocumentPath, _ version: Int64) -> Document?? = { _, _ in nil }
    ) -> Found? {
        guard paths.count <= Self.maxDocuments else { return nil }
        // A read of another snapshot may have seen a later state, in which these documents are the same: what it has
        // changed had left before it became durable. A state that is seen only after they were found may have others.
        let seen = seen.load(ordering: .sequentiallyConsistent)
        // What is evicted is freed without the lock, here and below.
        let (cached, version, _) = state.withLock { state in
            (state.isClosed ? nil : paths.map { state.known.use($0) }, state.version, state.known.takeEvicted())
        }
        guard let cached else { return nil }
        var (documents, bytes) = ([Known](), 0)
        documents.reserveCapacity(paths.count)
        for (path, cached) in zip(paths, cached) {
            guard let known = cached ?? changed(path, version).map({ Known($0, at: path) }) else { return nil }
            bytes += known.weight
            guard bytes <= Self.maxAnswerBytes else { return nil }
            documents.append(known)
        }
        return Found(documents: documents, version: max(version, seen))
    }

    /// Notes the version of a snapshot that a read sees.
    func saw(_ version: Int64) { seen.max(version, ordering: .sequentiallyConsistent) }

    /// Adds what a read has found in a snapshot.
    ///
    /// - Parameters:
    ///   - version: the snapshot's.
    ///   - newest: an upper bound for the version of a document's last change, also of one that isn't durable yet. It must
    ///     know of a change before ``willChange(_:)`` is called.
    func add(
        _ documents: [Document?], at paths: [DocumentPath], version: Int64, newest: (DocumentPath) -> Int64
    ) {
        guard paths.count <= Self.maxDocuments else { return }
        // What is read once isn't kept: among many documents that would be all.
        let again = state.withLock { state in
            paths.indices.filter { !state.read.insert(UInt64(truncatingIfNeeded: paths[$0].hashValue)) }
        }
        guard !again.isEmpty else { return }
        let found = again.map { (paths[$0], Known(documents[$0], at: paths[$0])) }
        _ = state.withLock { state in
            for (path, known) in found where newest(path) <= version { state.add(known, path) }
            return state.known.takeEvicted()
        }
    }

    // MARK: Commits

    /// Called before the changes become durable.
    func willChange(_ changes: some Sequence<DocumentPath>) { state.withLock { $0.willChange(changes) } }

    /// Called once the batch is durable.
    ///
    /// - Parameter documents: the states of what has changed, the last one of each last.
    func committed(_ documents: some Sequence<(path: DocumentPath, state: Document?)>, version: Int64) {
        // Only the writer's thread, which calls this, changes what is changing.
        let wanted = state.withLock { $0.changing.filter(\.value) }
        var states: [DocumentPath: Document?] = [:]
        if !wanted.isEmpty { for (path, document) in documents where wanted[path] != nil { states[path] = document } }
        let known = states.map { ($0.key, Known($0.value, at: $0.key)) }
        _ = state.withLock { state in
            state.committed(known, version: version)
            return state.known.takeEvicted()
        }
        saw(version)
    }

    /// Called when nothing of the batch was kept.
    func rolledBack() { state.withLock { $0.changing = [:] } }

    func close() { state.withLock { $0.close() } }
}

/// What is known, without a lock.
private struct State {
    /// The version of the last durable commit.
    private(set) var version: Int64
    var known: RecentMap<DocumentPath, DocumentCache.Known>
    /// What was read from a snapshot.
    var read = RecentHashes()
    /// What the open batch changes, and whether it was known.
    var changing: [DocumentPath: Bool] = [:]
    private(set) var isClosed = false

    init(version: Int64, maxBytes: Int) {
        self.version = version
        known = RecentMap(maxBytes: maxBytes)
    }

    mutating func add(_ document: DocumentCache.Known, _ path: DocumentPath) {
        guard !isClosed, changing[path] == nil, document.weight <= DocumentCache.maxAnswerBytes else { return }
        known.set(document, bytes: 256 + document.weight, for: path)
    }

    mutating func willChange(_ changes: some Sequence<DocumentPath>) {
        for path in changes { changing[path] = known.remove(path) || changing[path] ?? false }
    }

    mutating func committed(_ documents: [(DocumentPath, DocumentCache.Known)], version: Int64) {
        self.version = version
        changing = [:]
        for (path, document) in documents { add(document, path) }
    }

    mutating func close() {
        isClosed = true
        known.removeAll()
    }
}
