public import DocumentModel
import Synchronization

/// Performs many independent writes: each one succeeds or fails on its own.
///
/// Created by ``Firestore/bulkWriter()``. Writes are buffered and sent in order, in batches of some hundred. Adding a
/// write waits while a batch is sent, so memory stays bounded. Buffered writes are sent only when a batch is full, and
/// by ``flush()`` or ``close()``.
///
/// A write that fails with `aborted`, `unavailable` or `resourceExhausted` is attempted up to ten times, with
/// exponential backoff; later writes wait for it. In a standalone bundle, one that failed with `unavailable` may have
/// happened all the same, and an increment be applied twice, as with Google's libraries. If the task that sends a
/// batch is cancelled, the batch isn't retried further; earlier batches of other tasks are completed first.
public actor BulkWriter {
    /// A write that failed.
    public struct Failure: Error, Sendable {
        public let reference: DocumentReference
        public let error: DocumentError
        /// The deletion of many documents that the write belongs to; nil if it belongs to none.
        fileprivate let deletion: Int?
    }

    private static let maxWrites = 500
    /// The size limit of a request, with room for its frame.
    private static let maxBytes = 8 * 1024 * 1024

    /// The attempts of one write. The delays between them add up to about a minute.
    private static let maxAttempts = 10
    private static let firstPause: Duration = .milliseconds(100)
    /// A random factor for delays, so that writers that failed together don't retry together.
    private static let jitter = 0.7...1.3

    private typealias Entry = (write: Write, reference: DocumentReference, deletion: Int?)

    private let firestore: Firestore
    private let sleep: @Sendable (Duration) async throws -> Void
    private var gathered: [Entry] = []
    private var paths: Set<DocumentPath> = []
    private var bytes = 0
    private var failures: [Failure] = []
    private var deletions = 0
    private var isClosed = false
    private var sending: Task<Void, Never>?

    /// - Parameter sleep: Waits between two attempts; throws if the task is cancelled.
    package init(
        firestore: Firestore,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.firestore = firestore
        self.sleep = sleep
    }

    /// Replaces the document with these fields, or with `merge` changes these and keeps the others.
    nonisolated(nonsending) public func setData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, merge: Bool = false
    ) async throws(DocumentError) {
        try await add(try .set(fields, at: reference, merge: merge), reference)
    }

    /// Replaces the document with an encoded value, or with `merge` changes the encoded fields.
    nonisolated(nonsending) public func setData(
        from value: some Encodable & Sendable, forDocument reference: DocumentReference, merge: Bool = false
    ) async throws {
        let fields = try DocumentEncoder().encode(value)
        let write = try Write.set(fields, at: reference, merge: merge)
        try await add(write, reference)
    }

    /// Changes only the fields that `mergeFields` names by dotted paths, and keeps the document's others.
    nonisolated(nonsending) public func setData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, mergeFields: [any FieldPathConvertible]
    ) async throws(DocumentError) {
        try await add(try .set(fields, at: reference, mergeFields: mergeFields), reference)
    }

    /// Changes only the fields of an encoded value that `mergeFields` names by dotted paths, and keeps the document's
    /// others.
    nonisolated(nonsending) public func setData(
        from value: some Encodable & Sendable, forDocument reference: DocumentReference,
        mergeFields: [any FieldPathConvertible]
    ) async throws {
        let fields = try DocumentEncoder().encode(value)
        let write = try Write.set(fields, at: reference, mergeFields: mergeFields)
        try await add(write, reference)
    }

    /// Creates the document; the write fails with `alreadyExists` if it exists.
    nonisolated(nonsending) public func create(
        _ fields: [String: Any?], forDocument reference: DocumentReference
    ) async throws(DocumentError) {
        try await add(try .create(fields, at: reference), reference)
    }

    /// Creates the document from an encoded value; the write fails with `alreadyExists` if it exists.
    nonisolated(nonsending) public func create(
        from value: some Encodable & Sendable, forDocument reference: DocumentReference
    ) async throws {
        let fields = try DocumentEncoder().encode(value)
        let write = try Write.create(fields, at: reference)
        try await add(write, reference)
    }

    /// Changes fields by their dotted paths; the write fails with `notFound` if the document doesn't exist, and with
    /// `failedPrecondition` if it has changed since the precondition's `lastUpdateTime`.
    nonisolated(nonsending) public func updateData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, precondition: Precondition = .exists
    ) async throws(DocumentError) {
        try await add(try .update(fields, at: reference, precondition), reference)
    }

    /// Deletes the document, if it exists; with a precondition that it doesn't meet, the write fails.
    nonisolated(nonsending) public func deleteDocument(
        _ reference: DocumentReference, precondition: Precondition? = nil
    ) async throws(DocumentError) {
        try await add(try .delete(reference, precondition), reference)
    }

    /// Sends the buffered writes.
    ///
    /// - Returns: The writes that failed since the last call.
    public func flush() async -> [Failure] {
        await send()
        defer { failures = [] }
        return failures
    }

    /// Begins a deletion of many documents, whose failures are known from those of other writes.
    func beginDeletion() -> Int {
        deletions += 1
        return deletions
    }

    func delete(_ reference: DocumentReference, for deletion: Int) async throws(DocumentError) {
        try await add(try .delete(reference, nil), reference, for: deletion)
    }

    /// Sends the buffered writes, and leaves their failures to the next ``flush()``.
    ///
    /// - Returns: The first failure of a deletion.
    func failure(of deletion: Int) async -> Failure? {
        await send()
        return failures.first { $0.deletion == deletion }
    }

    /// Sends the buffered writes and refuses further ones.
    ///
    /// - Returns: As ``flush()``.
    public func close() async -> [Failure] {
        isClosed = true
        return await flush()
    }

    private func add(
        _ write: Write, _ reference: DocumentReference, for deletion: Int? = nil
    ) async throws(DocumentError) {
        try checkOpen()
        let size = Self.size(of: write)
        // A batch has each document once: a second write of a document waits for the first.
        while gathered.count >= Self.maxWrites || bytes + size > Self.maxBytes || paths.contains(write.path) {
            guard !gathered.isEmpty else { break }
            await send()
            // Writes added after the end would never be sent.
            try checkOpen()
        }
        gathered.append((write, reference, deletion))
        paths.insert(write.path)
        bytes += size
    }

    private func checkOpen() throws(DocumentError) {
        guard !isClosed else {
            throw DocumentError(.failedPrecondition, "the bulk writer is closed; create a new one")
        }
    }

    /// Batches run one after the other, so that two writes of a document stay in order.
    private func send() async {
        let batch = gathered
        let previous = sending
        gathered = []
        paths = []
        bytes = 0
        let task = Task {
            // The batch's attempts belong to the task that sends it, even if this one is cancelled.
            await previous?.value
            await self.send(batch)
        }
        sending = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Sends a batch, and retries the writes that failed temporarily.
    private func send(_ batch: [Entry]) async {
        var left = batch
        var pause = Self.firstPause
        for number in 1...Self.maxAttempts where !left.isEmpty {
            let refused = await refusals(of: left)
            let again = number == Self.maxAttempts ? [] : refused.filter { $0.error.isTransient }
            if !again.isEmpty {
                do {
                    try await sleep(pause * Double.random(in: Self.jitter))
                } catch {
                    return note(refused)
                }
            }
            note(again.isEmpty ? refused : refused.filter { !$0.error.isTransient })
            left = again.map(\.entry)
            pause *= 2
        }
    }

    private func note(_ refused: [(entry: Entry, error: DocumentError)]) {
        failures += refused.map {
            Failure(reference: $0.entry.reference, error: $0.error, deletion: $0.entry.deletion)
        }
    }

    /// Sends writes once. A request that is invalid as a whole has written nothing: it is divided until the writes that
    /// can't be sent stand alone, and the others are small enough together.
    private func refusals(of writes: [Entry]) async -> [(entry: Entry, error: DocumentError)] {
        do throws(DocumentError) {
            let results = try await firestore.transport.batchWrite(writes.map(\.write))
            return zip(writes, results).compactMap { entry, result in
                if case .failure(let error) = result { (entry, error) } else { nil }
            }
        } catch {
            guard error.code == .invalidArgument, writes.count > 1 else { return writes.map { ($0, error) } }
            let middle = writes.count / 2
            let first = await refusals(of: Array(writes[..<middle]))
            return first + (await refusals(of: Array(writes[middle...])))
        }
    }

    /// About what a write takes in a request: its content, and the names of what it transforms and masks.
    private static func size(of write: Write) -> Int {
        var size = DocumentLimits.size(of: write) + 64 * write.transforms.count
        if case .update(_, let mask) = write.operation {
            for field in mask { size += field.segments.reduce(0) { $0 + $1.utf8.count + 1 } }
        }
        return size
    }
}

extension DocumentError {
    /// Whether the same write may succeed later.
    fileprivate var isTransient: Bool {
        switch code {
        case .aborted, .unavailable, .resourceExhausted: true
        default: false
        }
    }
}
