public import DocumentModel
import Synchronization

/// Many writes that stand for themselves: each is stored or refused whatever becomes of the others.
///
/// Made by ``Firestore/bulkWriter()``. Writes are gathered and sent some hundred at a time, in order; adding one waits
/// while others are sent, so that memory stays bounded however many there are. Nothing is sent behind the author's
/// back: what is left goes with ``flush()`` or ``close()``.
///
/// A write that fails with `aborted`, `unavailable` or `resourceExhausted` is tried again, ten times at most, after
/// pauses that double; later writes wait for it. Where the task is cancelled there are no further tries.
public actor BulkWriter {
    /// A write that was refused.
    public struct Failure: Error, Sendable {
        public let reference: DocumentReference
        public let error: DocumentError
    }

    private static let maxWrites = 500
    /// A request's limit with room for its frame.
    private static let maxBytes = 8 * 1024 * 1024

    /// Of one write. All pauses between them come to less than a minute.
    private static let maxTries = 10
    private static let firstPause: Duration = .milliseconds(100)
    /// What a pause is multiplied by, so that writers that failed together don't come again together.
    private static let jitter = 0.7...1.3

    private typealias Entry = (write: Write, reference: DocumentReference)

    private let firestore: Firestore
    private let sleep: @Sendable (Duration) async throws -> Void
    private var gathered: [Entry] = []
    private var paths: Set<DocumentPath> = []
    private var bytes = 0
    private var failures: [Failure] = []
    private var isClosed = false
    private var sending: Task<Void, Never>?

    /// - Parameter sleep: waits between two tries; throws where the task is cancelled.
    package init(
        firestore: Firestore,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.firestore = firestore
        self.sleep = sleep
    }

    /// Makes the document exactly these fields, or with `merge` changes these and keeps the others.
    public func setData(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference, merge: Bool = false
    ) async throws(DocumentError) {
        try await add(try .set(fields, at: reference, merge: merge), reference)
    }

    /// Makes the document what a value of one's own encodes as, or with `merge` changes those fields.
    public func setData(
        from value: some Encodable & Sendable, forDocument reference: DocumentReference, merge: Bool = false
    ) async throws {
        let fields = try DocumentEncoder().encode(value)
        let write = try Write.set(fields, at: reference, merge: merge)
        try await add(write, reference)
    }

    /// Creates the document; the write fails with `alreadyExists` where there is one.
    public func create(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference
    ) async throws(DocumentError) {
        try await add(try .create(fields, at: reference), reference)
    }

    /// Changes fields by their dotted paths; the write fails with `notFound` where there is no document.
    public func updateData(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference
    ) async throws(DocumentError) {
        try await add(try .update(fields, at: reference), reference)
    }

    /// Deletes the document; nothing happens where there is none.
    public func deleteDocument(_ reference: DocumentReference) async throws(DocumentError) {
        try await add(try .delete(reference), reference)
    }

    /// Sends what was gathered.
    ///
    /// - Returns: every write that was refused since the last time.
    public func flush() async -> [Failure] {
        await send()
        defer { failures = [] }
        return failures
    }

    /// Sends what was gathered and takes no more.
    ///
    /// - Returns: as ``flush()``.
    public func close() async -> [Failure] {
        isClosed = true
        return await flush()
    }

    private func add(_ write: Write, _ reference: DocumentReference) async throws(DocumentError) {
        try checkOpen()
        let size = Self.size(of: write)
        // One batch has a document once: a second write of it waits for the first.
        while gathered.count >= Self.maxWrites || bytes + size > Self.maxBytes || paths.contains(write.path) {
            guard !gathered.isEmpty else { break }
            await send()
            // Nobody would send what is added after the end.
            try checkOpen()
        }
        gathered.append((write, reference))
        paths.insert(write.path)
        bytes += size
    }

    private func checkOpen() throws(DocumentError) {
        guard !isClosed else {
            throw DocumentError(.failedPrecondition, "the bulk writer was closed before; make a new one")
        }
    }

    /// Batches follow one another, so that two writes of a document stay in order.
    private func send() async {
        let batch = gathered
        let previous = sending
        gathered = []
        paths = []
        bytes = 0
        let task = Task {
            await withTaskCancellationHandler {
                await previous?.value
            } onCancel: {
                previous?.cancel()
            }
            await self.send(batch)
        }
        sending = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Sends a batch, and what fails for the moment again and again.
    private func send(_ batch: [Entry]) async {
        var left = batch
        var pause = Self.firstPause
        for number in 1...Self.maxTries where !left.isEmpty {
            let refused = await refusals(of: left)
            let again = number == Self.maxTries ? [] : refused.filter { $0.error.isTransient }
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
        failures += refused.map { Failure(reference: $0.entry.reference, error: $0.error) }
    }

    /// Sends writes once.
    private func refusals(of writes: [Entry]) async -> [(entry: Entry, error: DocumentError)] {
        do throws(DocumentError) {
            let results = try await firestore.transport.batchWrite(writes.map(\.write))
            return zip(writes, results).compactMap { entry, result in
                if case .failure(let error) = result { (entry, error) } else { nil }
            }
        } catch {
            return writes.map { ($0, error) }
        }
    }

    private static func size(of write: Write) -> Int {
        let fields: Int
        switch write.operation {
        case .set(let values), .update(let values, _): fields = DocumentLimits.size(of: values)
        case .delete, .verify: fields = 0
        }
        return DocumentLimits.size(of: write.path) + fields + 64 * write.transforms.count
    }
}

extension DocumentError {
    /// Whether the same write may be stored when it is tried again later.
    fileprivate var isTransient: Bool {
        switch code {
        case .aborted, .unavailable, .resourceExhausted: true
        default: false
        }
    }
}
