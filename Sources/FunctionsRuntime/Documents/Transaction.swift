package import DocumentModel
import Synchronization

/// A serializable set of reads and writes: either all of its writes are stored, on what it has read, or none.
///
/// Reads come before writes. Writes are kept here and sent with the commit, which follows when the body returns.
/// The body may run again where a concurrent transaction won, so it changes nothing outside the transaction.
/// A transaction that has ended refuses every further use.
public final class Transaction: Sendable {
    /// The database, to name documents and queries with.
    public let firestore: Firestore
    package let id: TransactionID
    private let isReadOnly: Bool
    private let state: Mutex<State>

    private struct State {
        var phase = Phase.reading
        /// What happens with the commit besides its writes.
        var effects: [Effect] = []
        /// The abort that a read met: the attempt is lost whatever the body makes of it.
        var lost: DocumentError?
        var documents: [DocumentPath: DocumentModel.Document?] = [:]
        var queries: [DocumentModel.Query: [DocumentModel.Document]] = [:]
    }

    private enum Phase {
        case reading
        case writing([Write])
        case ended
    }

    init(firestore: Firestore, id: TransactionID, prefetched: [TransactionRead], isReadOnly: Bool = false) {
        self.firestore = firestore
        self.id = id
        self.isReadOnly = isReadOnly
        var state = State()
        for read in prefetched {
            switch read {
            case .document(let path, let document): state.documents[path] = .some(document)
            case .query(let query, let documents): state.queries[query] = documents
            }
        }
        self.state = Mutex(state)
    }

    /// Closes the transaction and hands over what it has gathered.
    func end() -> (writes: [Write], effects: [Effect], lost: DocumentError?) {
        state.withLock { state in
            defer { state.phase = .ended }
            guard case .writing(let writes) = state.phase else { return ([], state.effects, state.lost) }
            return (writes, state.effects, state.lost)
        }
    }

    // MARK: What reads and writes rest on

    func read(_ paths: [DocumentPath]) async throws(DocumentError) -> [DocumentModel.Document?] {
        let known = try prepareRead { state in paths.map { state.documents[$0] } }
        let missing = zip(paths, known).compactMap { $1 == nil ? $0 : nil }
        guard !missing.isEmpty else { return known.map { $0 ?? nil } }
        var fetched = try await remembering { () async throws(DocumentError) in
            try await firestore.transport.get(missing, transaction: id).documents
        }[...]
        return known.map { $0 ?? fetched.popFirst() ?? nil }
    }

    func read(_ query: DocumentModel.Query) async throws(DocumentError) -> [DocumentModel.Document] {
        if let known = try prepareRead({ state in state.queries[query] }) { return known }
        return try await remembering { () async throws(DocumentError) in
            try await firestore.transport.query(query, transaction: id).documents
        }
    }

    func read(
        _ query: DocumentModel.Query, _ fields: [DocumentModel.AggregateField]
    ) async throws(DocumentError) -> [Value] {
        try prepareRead { _ in }
        return try await remembering { () async throws(DocumentError) in
            try await firestore.transport.aggregate(query, fields, transaction: id)
        }
    }

    func buffer(_ write: Write) throws(DocumentError) {
        guard !isReadOnly else { throw .writeInReadOnly }
        let error: DocumentError? = state.withLock { state in
            switch state.phase {
            case .reading: state.phase = .writing([write])
            case .writing(var writes):
                // Let go of the list in the state first, so that appending doesn't copy it.
                state.phase = .reading
                writes.append(write)
                state.phase = .writing(writes)
            case .ended: return .transactionEnded
            }
            return nil
        }
        if let error { throw error }
    }

    /// Keeps what is to happen with the commit.
    func buffer(_ effect: Effect) throws(DocumentError) {
        guard !isReadOnly else { throw .writeInReadOnly }
        let isOpen = state.withLock { state in
            if case .ended = state.phase { return false }
            state.effects.append(effect)
            return true
        }
        guard isOpen else { throw .transactionEnded }
    }

    private func prepareRead<Known: Sendable>(_ look: (State) -> Known) throws(DocumentError) -> Known {
        let result: Result<Known, DocumentError> = state.withLock { state in
            switch state.phase {
            case .reading: .success(look(state))
            case .writing: .failure(.readAfterWrite)
            case .ended: .failure(.transactionEnded)
            }
        }
        return try result.get()
    }

    private func remembering<Answer: Sendable>(
        _ read: () async throws(DocumentError) -> Answer
    ) async throws(DocumentError) -> Answer {
        do {
            return try await read()
        } catch {
            if error.code == .aborted { state.withLock { $0.lost = error } }
            throw error
        }
    }
}

extension DocumentError {
    static let transactionEnded = DocumentError(
        .failedPrecondition, "the transaction has ended; use it only inside the function it was handed to")

    static let writeInReadOnly = DocumentError(
        .failedPrecondition, "a read-only transaction writes nothing and enqueues nothing; run it with .readWrite()")

    static let readAfterWrite = DocumentError(
        .failedPrecondition, "a transaction reads before it writes; move this read above the first write")
}
