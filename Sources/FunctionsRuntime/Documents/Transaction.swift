import DocumentModel
import Synchronization
import UserModel
import WorkerProtocol

/// A serializable set of reads and writes: its writes are all stored, consistent with its reads, or none is.
///
/// Reads come before writes. Writes are buffered and sent with the commit, after the body returns. The body runs again
/// after a conflict with a concurrent transaction, so it must have no side effects outside the transaction. A
/// transaction that has ended refuses further use.
public final class Transaction: Sendable {
    /// The database, for referring to documents and queries.
    public let firestore: Firestore
    private let isReadOnly: Bool
    private let state: Mutex<State>

    private struct State {
        var beginning: Beginning
        var phase = Phase.reading
        /// Tasks and events that the commit causes.
        var effects: [Effect] = []
        /// What it has read of the Realtime Database.
        var databaseReads: [(request: DatabaseRequest, json: [UInt8])] = []
        /// What it has read and changes beside documents.
        var changes = TransactionChanges()
        /// The abort of a read: the attempt is lost even if the body catches the error.
        var lost: DocumentError?
        var documents: [DocumentPath: DocumentModel.Document?] = [:]
        var queries: [DocumentModel.Query: [DocumentModel.Document]] = [:]

        init(beginning: Beginning) { self.beginning = beginning }

        mutating func know(_ reads: [TransactionRead]) {
            for read in reads {
                switch read {
                case .document(let path, let document): documents[path] = .some(document)
                case .query(let query, let documents): queries[query] = documents
                }
            }
        }
    }

    /// Whether the store knows the transaction.
    private enum Beginning {
        /// The first read begins it.
        case notBegun
        /// Reads wait until the first one has its answer.
        case beginning([CheckedContinuation<Void, Never>])
        case begun(TransactionID)
    }

    private enum Phase {
        case reading
        case writing([Write])
        case ended
    }

    init(firestore: Firestore, id: TransactionID, prefetched: [TransactionRead], isReadOnly: Bool = false) {
        self.firestore = firestore
        self.isReadOnly = isReadOnly
        var state = State(beginning: .begun(id))
        state.know(prefetched)
        self.state = Mutex(state)
    }

    /// A transaction that its first read begins.
    init(firestore: Firestore) {
        self.firestore = firestore
        isReadOnly = false
        state = Mutex(State(beginning: .notBegun))
    }

    /// Nil if it hasn't read anything.
    var id: TransactionID? {
        state.withLock { state in
            if case .begun(let id) = state.beginning { id } else { nil }
        }
    }

    // MARK: Beginning

    /// Begins the transaction, if it hasn't begun.
    ///
    /// - Parameters:
    ///   - read: what is read with that; nil to begin it alone.
    ///   - isCommitting: whether it begins for its commit, after it was closed.
    func begin(
        reading read: FirstRead? = nil, isCommitting: Bool = false
    ) async throws(DocumentError) -> TransactionID {
        while true {
            if let id = await waitForBegin() { return id }
            let isMine = try state.withLock { state throws(DocumentError) -> Bool in
                guard case .notBegun = state.beginning else { return false }
                if case .ended = state.phase, !isCommitting { throw .transactionEnded }
                state.beginning = .beginning([])
                return true
            }
            if !isMine { continue }
            do throws(DocumentError) {
                let request = read.map { DocumentRequest.beginReading($0) } ?? .begin(.readWrite(retrying: nil))
                let response = try await remembering { () async throws(DocumentError) in
                    try await firestore.transport.send(request)
                }
                guard case .began(let id, let prefetched) = response else { throw .unexpected(response, to: "begin") }
                end(.begun(id), knowing: prefetched)
                return id
            } catch {
                // Nothing has begun: the next read begins.
                end(.notBegun)
                throw error
            }
        }
    }

    /// Waits until the transaction has begun, if it begins.
    ///
    /// - Returns: nil if it hasn't begun.
    private func waitForBegin() async -> TransactionID? {
        if let id { return id }
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                guard case .beginning(var waiting) = state.beginning else { return true }
                waiting.append(continuation)
                state.beginning = .beginning(waiting)
                return false
            }
            if goesOn { continuation.resume() }
        }
        return id
    }

    private func end(_ beginning: Beginning, knowing prefetched: [TransactionRead] = []) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.know(prefetched)
            defer { state.beginning = beginning }
            if case .beginning(let waiting) = state.beginning { return waiting }
            return []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// What a transaction commits.
    struct End {
        var writes: [Write] = []
        var effects: [Effect]
        var changes: TransactionChanges
        var lost: DocumentError?
    }

    /// Closes the transaction and returns its buffered writes. No read begins it any more: a read may be under way that
    /// the body didn't wait for, and if its begin fails, the next one that waits begins.
    func end() async -> End {
        while true {
            _ = await waitForBegin()
            let end = state.withLock { state -> End? in
                if case .beginning = state.beginning { return nil }
                defer { state.phase = .ended }
                var end = End(effects: state.effects, changes: state.changes, lost: state.lost)
                if case .writing(let writes) = state.phase { end.writes = writes }
                return end
            }
            if let end { return end }
        }
    }

    // MARK: What reads and writes rest on

    func read(_ paths: [DocumentPath]) async throws(DocumentError) -> [DocumentModel.Document?] {
        func look(
            hasBegun: Bool = false
        ) throws(DocumentError) -> (known: [DocumentModel.Document??], missing: [DocumentPath]) {
            let known = try prepareRead(hasBegun: hasBegun) { state in paths.map { state.documents[$0] } }
            return (known, zip(paths, known).compactMap { $1 == nil ? $0 : nil })
        }
        var (known, missing) = try look()
        guard !missing.isEmpty else { return known.map { $0 ?? nil } }
        let id = try await begin(reading: .documents(missing))
        // Beginning may have read them.
        (known, missing) = try look(hasBegun: true)
        guard !missing.isEmpty else { return known.map { $0 ?? nil } }
        let unknown = missing
        var fetched = try await remembering { () async throws(DocumentError) in
            try await firestore.transport.get(unknown, transaction: id).documents
        }[...]
        return known.map { $0 ?? fetched.popFirst() ?? nil }
    }

    func read(_ query: DocumentModel.Query) async throws(DocumentError) -> [DocumentModel.Document] {
        if let known = try prepareRead({ state in state.queries[query] }) { return known }
        let id = try await begin(reading: .query(query))
        // Beginning may have read it.
        if let known = try prepareRead(hasBegun: true, { state in state.queries[query] }) { return known }
        return try await remembering { () async throws(DocumentError) in
            try await firestore.transport.query(query, transaction: id).documents
        }
    }

    func read(
        _ query: DocumentModel.Query, _ fields: [DocumentModel.AggregateField]
    ) async throws(DocumentError) -> [Value] {
        try prepareRead { _ in }
        let id = try await begin()
        return try await remembering { () async throws(DocumentError) in
            try await firestore.transport.aggregate(query, fields, transaction: id)
        }
    }

    func read(
        _ search: VectorSearch, of query: DocumentModel.Query
    ) async throws(DocumentError) -> [DocumentModel.Document] {
        try prepareRead { _ in }
        let id = try await begin()
        return try await remembering { () async throws(DocumentError) in
            try await firestore.transport.nearest(search, of: query, transaction: id)
        }
    }

    func buffer(_ write: Write) throws(DocumentError) {
        guard !isReadOnly else { throw .writeInReadOnly }
        let error: DocumentError? = state.withLock { state in
            switch state.phase {
            case .reading: state.phase = .writing([write])
            case .writing(var writes):
                // Removes the list from the state first, so that appending doesn't copy it.
                state.phase = .reading
                writes.append(write)
                state.phase = .writing(writes)
            case .ended: return .transactionEnded
            }
            return nil
        }
        if let error { throw error }
    }

    /// Buffers a task or event for the commit.
    func buffer(_ effect: Effect) throws(DocumentError) {
        guard !isReadOnly else { throw .writeInReadOnly }
        let isOpen = state.withLock { state in
            if case .ended = state.phase { return false }
            state.effects.append(effect)
            return true
        }
        guard isOpen else { throw .transactionEnded }
    }

    // MARK: Users

    /// Looks users up. The commit is refused if the same lookup would find something else then.
    func read(_ request: UserRequest) async throws -> [UInt8] {
        guard !isReadOnly else { throw DocumentError.usersInReadOnly }
        let known = try prepareRead { state in
            state.changes.users.expectations.first { $0.lookup == request.body }?.answer
        }
        if let known { return known }
        let answer = try await firestore.transport.users(request)
        state.withLock { state in
            // Another task may have read the same meanwhile; the commit compares both.
            state.changes.users.expectations.append(.init(lookup: request.body, answer: answer))
        }
        return answer
    }

    /// Buffers a change of users for the commit.
    func buffer(_ request: UserRequest) throws(DocumentError) {
        try change { $0.users.writes.append(request) }
    }

    // MARK: Realtime Database

    /// Reads what exists. The commit is refused if the same read would find something else then.
    func read(_ request: DatabaseRequest) async throws(DocumentError) -> [UInt8] {
        guard !isReadOnly else { throw .databaseInReadOnly }
        let known = try prepareRead { state in
            state.databaseReads.first { $0.request == request }?.json
        }
        if let known { return known }
        let response = try await firestore.transport.send(.database(request))
        guard case .database(.value(let json, let hash, let version)) = response else {
            throw .unexpected(response, to: "the database")
        }
        state.withLock { state in
            state.databaseReads.append((request, json))
            state.changes.database.expectations.append(.init(request, hash: hash, version: version))
        }
        return json
    }

    /// Buffers a change of the Realtime Database for the commit.
    func buffer(_ request: DatabaseRequest) throws(DocumentError) {
        try change { $0.database.writes.append(request) }
    }

    private func change(_ change: (inout TransactionChanges) -> Void) throws(DocumentError) {
        guard !isReadOnly else { throw .writeInReadOnly }
        let isOpen = state.withLock { state in
            switch state.phase {
            case .reading: state.phase = .writing([])
            case .writing: break
            case .ended: return false
            }
            change(&state.changes)
            return true
        }
        guard isOpen else { throw .transactionEnded }
    }

    /// - Parameter hasBegun: whether the read was allowed before it waited for the transaction's begin: then a write
    ///   that came meanwhile isn't before it.
    private func prepareRead<Known: Sendable>(
        hasBegun: Bool = false, _ look: (State) -> Known
    ) throws(DocumentError) -> Known {
        let result: Result<Known, DocumentError> = state.withLock { state in
            switch state.phase {
            case .writing where !hasBegun: .failure(.readAfterWrite)
            case .reading, .writing: .success(look(state))
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
        .failedPrecondition, "a read-only transaction can't write or enqueue; use .readWrite()")

    static let usersInReadOnly = DocumentError(
        .failedPrecondition, "a read-only transaction sees documents only; read users before it")

    static let databaseInReadOnly = DocumentError(
        .failedPrecondition, "a read-only transaction sees documents only; read the Realtime Database before it")

    static let readAfterWrite = DocumentError(
        .failedPrecondition, "reads must come before writes in a transaction; move this read before the first write")
}
