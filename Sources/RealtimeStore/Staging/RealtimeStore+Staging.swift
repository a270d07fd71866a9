package import CommitPipeline
import DocumentModel
package import RealtimeModel
import StorageEngine

/// Why a text can't be staged.
package enum StagingFailure: Error {
    /// The text isn't a value.
    case text(RealtimeError)
    /// It must be read into memory: it has server values, which are computed when it is written.
    case needsMemory
    case store(RealtimeFailure)
}

extension RealtimeStore {
    /// Stores the rows of a large value beside the tree, some in each of many short commits, so that a write can put
    /// them into place. Neither the value is held in memory, nor do other writers wait.
    ///
    /// Blocks the calling thread, which must not be one of the pipeline's.
    ///
    /// - Parameters:
    ///   - bytes: the value as JSON.
    ///   - path: where it is written to.
    ///   - progress: called from time to time with the number of bytes that were read and aren't needed any more. What
    ///     it throws ends staging.
    /// - Returns: nil if the text stands for nothing, such as `{}`. The rows are removed in the background if the value is
    ///   released without a write.
    package func stage(
        _ bytes: UnsafeRawBufferPointer, at path: RealtimePath, in namespace: String,
        progress: @escaping (Int) throws(RealtimeFailure) -> Void = { _ in }
    ) throws(StagingFailure) -> StagedValue? {
        do {
            return try stage(at: path, in: namespace, progress: progress) { rows in
                try RealtimeRowReader.read(bytes, at: path, to: &rows)
            }
        } catch let error as RealtimeError {
            throw .text(error)
        } catch is HasServerValue {
            throw .needsMemory
        } catch {
            throw .store(RealtimeFailure(from: error))
        }
    }

    /// Stores the rows that a text of any format has, as ``stage(_:at:in:progress:)`` does those of JSON.
    ///
    /// - Parameter read: gives each row to the receiver once: no row twice, nothing below a leaf, and a priority only to a leaf or
    ///   to an object with children.
    /// - Throws: what `read` throws, or `RealtimeFailure`.
    package func stage(
        at path: RealtimePath, in namespace: String, progress: @escaping (Int) throws(RealtimeFailure) -> Void,
        reading read: (inout StagingRows) throws -> Void
    ) throws -> StagedValue? {
        try waitForRoom(in: namespace)
        // The caller may have left meanwhile.
        try progress(0)
        let hold = StagedHold()
        let tree = try changeAndWait { kind, _ in kind.makeStagedTree(of: namespace, held: hold) }.get()
        let owner = StagedTree(tree, hold, of: namespace, in: self)
        var rows = StagingRows(tree, hold, at: path, in: self, progress)
        try read(&rows)
        try rows.finish()
        guard rows.count > 0 else { return nil }
        let position = rows.position
        return StagedValue(
            tree: tree, at: path, priority: rows.priority, rowCount: rows.count,
            indexes: try index(tree, at: path, in: namespace) { try progress(position) }, hold: owner)
    }

    /// Decides as ``check(_:of:completion:)`` does. Blocks the calling thread, which must not be one of the pipeline's.
    ///
    /// - Throws: the reason if the writes wouldn't be allowed.
    package func checkAndWait(_ request: RealtimeCommit, of caller: ReadCaller) throws(RealtimeFailure) {
        try wait { check(request, of: caller, completion: $0) }
    }

    /// Reads a staged value, as what exists at its path.
    ///
    /// - Parameter caller: whose turn the read waits for.
    package func read<Success: Sendable>(
        _ staged: StagedValue, of caller: ReadCaller, _ body: @escaping @Sendable (RealtimeSnapshot) throws -> Success,
        completion: @escaping @Sendable (Result<Success, RealtimeFailure>) -> Void
    ) {
        let job = StagedReadJob(staged: staged, body: body, completion: completion)
        pipeline.read(job, of: caller)
    }

    /// Adds the entries of indexes to the rows of a staged value.
    ///
    /// - Parameter step: called from time to time. What it throws ends the work.
    /// - Returns: the numbers of the indexes.
    private func index(
        _ tree: UInt32, at path: RealtimePath, in namespace: String, _ step: () throws -> Void
    ) throws -> Set<UInt32> {
        let indexes = try changeAndWait { kind, _ in
            kind.indexes(of: namespace).filter { $0.state != .dropping && $0.definition.mayCover(below: path) }
        }
        for index in indexes {
            var position: [UInt8]?
            repeat {
                try step()
                position = try changeAndWait { [position] _, storage in
                    let layout = TreeLayout(tree: tree)
                    let pass = IndexPass(namespace, layout, index, below: path, storage)
                    return try pass.build(after: position, StagingRows.maxRows)
                }
            } while position != nil
        }
        return Set(indexes.map(\.number))
    }

    /// Waits until most of the rows that are in no tree of the namespace any more are removed.
    private func waitForRoom(in namespace: String) throws(RealtimeFailure) {
        try wait { completion in
            change({ kind, _ in
                kind.whenRoom(in: namespace) { failure in completion(failure.map { .failure($0) } ?? .success(())) }
            }) { result in if case .failure(let failure) = result { completion(.failure(failure)) } }
        }
    }

    /// Changes what is kept, and waits until that is durable.
    private func changeAndWait<Success: Sendable>(
        _ body: @escaping @Sendable (RealtimeRows, any StorageWriter) throws -> Success
    ) throws(RealtimeFailure) -> Success {
        try wait { change(body, completion: $0) }
    }

    /// Blocks the thread until the completion is called.
    private func wait<Success: Sendable>(
        _ begin: (@escaping @Sendable (Result<Success, RealtimeFailure>) -> Void) -> Void
    ) throws(RealtimeFailure) -> Success {
        let results = JobQueue<Result<Success, RealtimeFailure>>()
        begin { _ = results.put($0) }
        guard let result = results.take()?.first else { throw RealtimeFailure(from: CommitPipeline.shutDown) }
        return try result.get()
    }
}

/// Keeps the rows of a staged value.
private final class StagedTree: Sendable {
    private let tree: UInt32
    private let hold: StagedHold
    private let namespace: String
    private let store: RealtimeStore

    init(_ tree: UInt32, _ hold: StagedHold, of namespace: String, in store: RealtimeStore) {
        self.tree = tree
        self.hold = hold
        self.namespace = namespace
        self.store = store
    }

    deinit {
        hold.release()
        // If this fails, the writer looks for work after its failure anyway.
        let (tree, namespace) = (tree, namespace)
        store.change({ kind, _ in kind.releaseStagedTree(tree, of: namespace) }) { _ in }
    }
}

/// Reads the rows of a staged value.
private struct StagedReadJob<Success: Sendable>: SnapshotJob {
    let staged: StagedValue
    let body: @Sendable (RealtimeSnapshot) throws -> Success
    let completion: @Sendable (Result<Success, RealtimeFailure>) -> Void

    func run(on snapshot: Snapshot) {
        let rows = TreeRows(storage: snapshot.storage, layout: TreeLayout(tree: staged.tree))
        // Its text was bounded.
        let limits = RealtimeReadLimits(maxBytes: .max)
        let state = RealtimeSnapshot(rows, indexes: [], limits: limits, version: snapshot.version)
        let result = Result { try body(state) }.mapError { RealtimeFailure(from: $0) }
        snapshot.complete { [completion] in completion(result) }
    }

    func fail(_ error: DocumentError) { completion(.failure(RealtimeFailure(from: error))) }
}
