import CommitPipeline
import StorageEngine
import DocumentModel

/// The writer's part in indexes: the catalog, and the remaining work until all entries match it.
struct IndexMaintenance {
    private struct State {
        var catalog: IndexCatalog
        var pass: IndexPass?
        /// The first entry that is left of each index that is being dropped, as far as this process knows.
        var positions: [UInt32: [UInt8]] = [:]
    }

    private var state: State
    /// The state after the last durable batch.
    private var durable: State
    /// Reported once the batch is durable.
    private var events: [IndexEvent] = []
    /// Called once the batch is durable, and once no work is left.
    private var answers: [IndexJob.Completion] = []
    private var waiters: [IndexJob.Completion] = []
    private var isConfigured = false
    /// What the open batch configures.
    private var configured: IndexConfiguration?
    /// What was to be configured with a batch that wasn't kept. It comes with the next work.
    private var refused: IndexConfiguration?
    private var isStuck = false
    private var lastFailure: DocumentError?
    private let onEvent: (@Sendable (IndexEvent) -> Void)?

    private static let documentsBetweenEvents = 100_000
    /// The entries of a dropped index that are removed at once.
    private static let removedEntries = 64

    /// - Throws: `StorageError` if the stored index data is damaged.
    init(_ storage: any StorageReader, onEvent: (@Sendable (IndexEvent) -> Void)? = nil) throws {
        let generations = try StoreVersion.readRow(storage).generations
        let catalog = try IndexCatalog.read(storage, generation: generations[DocumentWriter.self] ?? 0)
        state = State(catalog: catalog, pass: try IndexPass.read(storage))
        durable = state
        self.onEvent = onEvent
    }

    /// Runs before anything else is done with a store. A store that is older than the catalog has entries of an older
    /// form, which are recreated.
    ///
    /// - Throws: `StorageError` if the stored index data is damaged.
    static func prepare(_ storage: any StorageWriter) throws {
        var (version, generations) = try StoreVersion.readRow(storage)
        if version != 0, generations[DocumentWriter.self] == nil {
            var catalog = IndexCatalog()
            catalog.beginRebuilding()
            try catalog.write(to: storage)
            generations[DocumentWriter.self] = catalog.generation
            try StoreVersion.write(version, generations, to: storage)
        }
        _ = try IndexMaintenance(storage)
    }

    var catalog: IndexCatalog { state.catalog }
    var isChanged: Bool { state.catalog.generation != durable.catalog.generation }

    /// Whether any work is left.
    var hasWork: Bool {
        refused != nil || state.pass != nil || state.catalog.isRebuilding
            || state.catalog.indexes.contains { !$0.isReady } || state.catalog.fields.contains { !$0.isSettled }
    }

    /// How long the writer may wait for other work; nil for any time.
    var pause: Duration? { hasWork ? (isStuck ? .seconds(1) : .zero) : nil }
}

// MARK: Called by the writer

extension IndexMaintenance {
    /// Applies a configuration; later batches do the work that it causes.
    mutating func configure(_ configuration: IndexConfiguration) {
        let changes = state.catalog.configure(configuration)
        state.pass = state.pass?.without(changes)
        events += changes.added.map { .building($0.definition) }
        events += changes.dropped.map { .dropping($0.definition) }
        events += changes.collections.map { .changingFields(collectionID: $0) }
        isConfigured = true
        configured = configuration
        refused = nil
    }

    /// Applies a configuration with the next work, because its batch has failed.
    mutating func configureLater(_ configuration: IndexConfiguration) { refused = configuration }

    /// Begins to recreate all entries.
    mutating func rebuild() {
        state.catalog.beginRebuilding()
        state.pass = nil
        events.append(.rebuilding)
        isConfigured = true
    }

    /// Stores what was configured in the open batch, which may end before any of the work that it causes.
    mutating func storeConfiguration(_ storage: any StorageWriter) throws {
        guard isConfigured else { return }
        isConfigured = false
        if isChanged { try store(storage) }
    }

    /// Applies and stores the configuration of a batch that wasn't kept, if there is one.
    ///
    /// - Throws: if the batch must not be kept: also for damage, since the catalog's row would be missing.
    mutating func configureRefused(_ storage: any StorageWriter) throws {
        guard let refused else { return }
        configure(refused)
        try storeConfiguration(storage)
    }

    mutating func whenDurable(_ completion: @escaping IndexJob.Completion) { answers.append(completion) }

    /// Calls the completion once no work is left.
    mutating func whenDone(_ completion: @escaping IndexJob.Completion) { waiters.append(completion) }

    /// Does some of the work within the open batch.
    ///
    /// - Parameter isEnough: called after each document; true ends the step.
    /// - Throws: if the batch must not be kept, or a `StorageError` for damage, with which it may be.
    mutating func step(_ storage: any StorageWriter, until isEnough: () -> Bool) throws {
        repeat {
            guard hasWork else { break }
            if !state.catalog.isRebuilding, let index = state.catalog.indexes.first(where: { $0.state == .dropping }) {
                let range = KeyRange(prefix: CompositeKey.prefix(index: index.id, collection: nil))
                let rest = KeyRange(lower: state.positions[index.id] ?? range.lower, upper: range.upper)
                state.positions[index.id] = try storage.removeRange(.index, rest, atMost: Self.removedEntries)
                if state.positions[index.id] == nil {
                    state.catalog.dropped(index.id)
                    events.append(.dropped(index.definition))
                }
            } else if var pass = state.pass ?? IndexPass.next(for: state.catalog) {
                let before = pass.documents / Self.documentsBetweenEvents
                let isOver = try pass.advance(state.catalog, storage, until: isEnough) { failure in
                    events.append(.skipped(DocumentError(from: failure)))
                }
                state.pass = pass
                if pass.documents / Self.documentsBetweenEvents > before { reportProgress(pass) }
                if isOver { finish(pass) }
            }
            try store(storage)
        } while !isEnough()
        isStuck = false
    }

    /// Called when the batch is durable.
    mutating func kept() {
        // Not with the step: on a full disk the batch fails after it, each time.
        if !isStuck { lastFailure = nil }
        durable = state
        configured = nil
        for event in events { onEvent?(event) }
        events = []
        for answer in answers { answer(.success(())) }
        answers = []
        guard !hasWork else { return }
        for waiter in waiters { waiter(.success(())) }
        waiters = []
    }

    /// Called when a step has found damage that it can't pass over. What it has done before is right, and stays.
    mutating func stall(_ error: DocumentError) {
        isStuck = true
        if lastFailure != error { events.append(.failed(error)) }
        lastFailure = error
        for waiter in waiters { waiter(.failure(error)) }
        waiters = []
    }

    /// Called when nothing of the batch was kept.
    mutating func rollBack(_ error: DocumentError) {
        state = durable
        isConfigured = false
        refused = configured ?? refused
        configured = nil
        events = []
        refuseAll(error)
        guard hasWork else { return }
        isStuck = true
        if lastFailure != error { onEvent?(.failed(error)) }
        lastFailure = error
    }

    /// Called when the store is shutting down.
    mutating func refuseAll(_ error: DocumentError) {
        for completion in answers + waiters { completion(.failure(error)) }
        answers = []
        waiters = []
    }

    private mutating func finish(_ pass: IndexPass) {
        let before = state.catalog
        state.catalog.finish(pass)
        state.pass = nil
        for (old, new) in zip(before.indexes, state.catalog.indexes) where old.state != new.state {
            events.append(.ready(new.definition))
        }
        if pass.scope == .everything {
            events.append(.rebuilt)
        } else {
            events += pass.fields.map { .changedFields(collectionID: $0.text) }
        }
    }

    private mutating func reportProgress(_ pass: IndexPass) {
        var collectionID: String?
        if case .collections(let id) = pass.scope { collectionID = id }
        events.append(.progress(collectionID: collectionID, documents: pass.documents))
    }

    private func store(_ storage: any StorageWriter) throws {
        if isChanged { try state.catalog.write(to: storage) }
        // A pass that began and ended in this batch has left its row, which is removed here.
        if state.pass != durable.pass || state.pass == nil { try IndexPass.write(state.pass, to: storage) }
    }
}
