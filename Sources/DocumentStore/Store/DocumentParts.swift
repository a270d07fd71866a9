import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// The state that the reads, commits and listeners of one store share.
final class DocumentParts: Sendable {
    let engine: any StorageEngine
    let now: @Sendable () -> Timestamp
    let elapsed: @Sendable () -> Duration
    let configuration: StoreConfiguration
    let transactions: Mutex<TransactionTable>
    let listeners: ListenerHub
    let cache: DocumentCache
    private let catalog = Mutex(IndexCatalog())
    private let held = Atomic(0)

    init(_ pipeline: CommitPipeline, _ configuration: StoreConfiguration) {
        engine = pipeline.engine
        now = pipeline.now
        elapsed = pipeline.elapsed
        self.configuration = configuration
        transactions = Mutex(TransactionTable(version: pipeline.openedVersion, configuration: configuration))
        listeners = ListenerHub(configuration: configuration)
        cache = DocumentCache(version: pipeline.openedVersion, maxBytes: configuration.maxCachedBytes)
    }

    /// The documents of a snapshot, with its indexes.
    ///
    /// - Throws: `StorageError` if its catalog of indexes is damaged.
    func view(of snapshot: Snapshot) throws -> DocumentView {
        cache.saw(snapshot.version)
        let generation = snapshot.generations[DocumentWriter.self] ?? 0
        let catalog = try catalog.withLock { known in
            if known.generation != generation {
                known = try IndexCatalog.read(snapshot.storage, generation: generation)
            }
            return known
        }
        return DocumentView(snapshot.storage, catalog)
    }

    /// The newest states of documents that need no reader: of those that were read more than once or changed lately.
    ///
    /// - Returns: nil unless all are known.
    func find(_ paths: [DocumentPath]) -> DocumentCache.Found? {
        cache.find(paths) { path, version in transactions.withLock { $0.changes.state(of: path, upTo: version) } }
    }

    /// The same in the open batch. Called on the writer's thread.
    func findInBatch(_ paths: [DocumentPath]) -> DocumentCache.Found? {
        // What the batch changes isn't in the cache.
        cache.find(paths) { path, _ in transactions.withLock { $0.changes.state(of: path, upTo: .max) } }
    }

    /// Counts documents that wait with a decided commit.
    ///
    /// - Returns: false if there would be too many.
    func hold(_ bytes: Int) -> Bool {
        let all = held.add(bytes, ordering: .relaxed).newValue
        guard all > configuration.maxHeldBytes else { return true }
        release(bytes)
        return false
    }

    func release(_ bytes: Int) { held.subtract(bytes, ordering: .relaxed) }

    func accessView(_ view: DocumentView) -> AccessView {
        let read = { (path: DocumentPath) throws(DocumentError) -> Document? in
            do { return try view.document(path) } catch { throw DocumentError(from: error) }
        }
        return AccessView(time: now(), document: read, documentAfter: read)
    }

    /// What may be decided at once, in units of about 50 ns.
    private static let maxCostAtOnce = 400

    /// Whether a client may have a document by itself, such as one that has left its result.
    ///
    /// - Returns: also false if that isn't found out without other documents, and soon.
    func mayGet(_ document: Document, by policy: any AccessPolicy) -> Bool {
        do {
            try policy.check(.get(document.path, document), in: accessViewAtOnce(isTrial: true))
            return true
        } catch {
            return false
        }
    }

    /// For a decision that must be soon enough for any thread, and reads no other documents.
    func accessViewAtOnce(isTrial: Bool = false) -> AccessView {
        let unavailable = { (_: DocumentPath) throws(DocumentError) -> Document? in
            throw DocumentError(.unavailable, "it is read on another thread")
        }
        return AccessView(
            time: now(), maxCost: Self.maxCostAtOnce, isTrial: isTrial, document: unavailable,
            documentAfter: unavailable)
    }
}
