import CommitPipeline
import DocumentModel
import StorageEngine

/// The Realtime Database as a kind of data: the writer's state of it, and its work in the background.
final class RealtimeRows: DataKind, @unchecked Sendable {
    static let id: UInt8 = 2

    let configuration: RealtimeStoreConfiguration
    let catalogs: CatalogCache
    let hub: RealtimeHub
    let nodes: NodeCache
    /// Why namespaces can't be read.
    let damagedNamespaces: [String: String]
    // Everything below is used only on the writer's thread.
    private var catalog: RealtimeCatalog
    private var durable: RealtimeCatalog
    private var isCatalogChanged = false
    private(set) var recent: RecentRows
    /// The open batch's commits, and the answers to their callers, in their order.
    private var feed: [FeedItem] = []
    /// The answers of the last batch that are given at once.
    private var direct: [() -> Void] = []
    /// Whether the open batch answers callers.
    private var hasAnswers = false
    private var background = BackgroundWork()
    /// The indexes that the open batch gives to namespaces.
    private var configuredIndexes: [String: [RealtimeIndexDefinition]] = [:]
    /// Those of batches that weren't kept. They come with the next work.
    private var refusedIndexes: [String: [RealtimeIndexDefinition]] = [:]
    /// Called once no background work is left.
    private var waiters: [@Sendable (RealtimeFailure?) -> Void] = []
    /// Called once a namespace has little garbage.
    private var roomWaiters: [(namespace: String, completion: @Sendable (RealtimeFailure?) -> Void)] = []
    /// So many subtrees of a namespace may wait to be removed before another large value is stored.
    private static let maxGarbage = 16
    /// The steps of background work that a batch does beside the first.
    private static let maxFurtherSteps = 63

    /// - Throws: `DecodingFailure` or `StorageError` if damage concerns more than one namespace.
    init(
        _ storage: any StorageReader, configuration: RealtimeStoreConfiguration, catalogs: CatalogCache,
        hub: RealtimeHub, nodes: NodeCache
    ) throws {
        self.configuration = configuration
        self.catalogs = catalogs
        self.hub = hub
        self.nodes = nodes
        let (version, generations) = try StoreVersion.readRow(storage)
        catalog = try RealtimeCatalog.read(storage, generation: generations[RealtimeRows.self] ?? 0)
        durable = catalog
        damagedNamespaces = catalog.damaged.mapValues(\.reason)
        recent = RecentRows(floor: version)
        background.begin(with: catalog)
        // Readers don't take for damaged what the writer has read.
        catalogs.add(catalog)
    }

    // MARK: Commits

    /// What is kept of a namespace; nil for a new one.
    ///
    /// - Throws: `unknownNamespace` if it doesn't exist, and isn't created by its first use; `damaged` if it can't be
    ///   read.
    func record(of namespace: String) throws(RealtimeFailure) -> NamespaceRecord? {
        if let record = try catalog.record(of: namespace) { return record }
        guard configuration.createsNamespaces else { throw .unknownNamespace(namespace) }
        return nil
    }

    var namespaces: Dictionary<String, NamespaceRecord>.Keys { catalog.namespaces.keys }

    func indexes(of namespace: String) -> [RealtimeIndex] { catalog.namespaces[namespace]?.indexes ?? [] }

    /// Changes what is kept of a namespace, which is created if it doesn't exist. The batch stores it at its end. A
    /// damaged one stays as it is.
    func update(_ namespace: String, _ change: (inout NamespaceRecord, _ makeTree: () -> UInt32) -> Void) {
        guard catalog.damaged[namespace] == nil else { return }
        var record = catalog.namespaces[namespace] ?? NamespaceRecord(layout: TreeLayout(tree: catalog.makeTree()))
        change(&record) { catalog.makeTree() }
        guard catalog.namespaces[namespace] != record else { return }
        catalog.namespaces[namespace] = record
        background.look(at: namespace)
        guard !isCatalogChanged else { return }
        isCatalogChanged = true
        catalog.generation += 1
    }

    /// Makes these the indexes of a namespace, if need be with a later batch: of two calls the later one counts.
    func configureIndexes(_ definitions: [RealtimeIndexDefinition], of namespace: String) {
        refusedIndexes[namespace] = nil
        // A namespace isn't created for the sake of no index.
        guard !definitions.isEmpty || catalog.namespaces[namespace] != nil else { return }
        configuredIndexes[namespace] = definitions
        update(namespace) { record, _ in record.configure(definitions) }
    }

    /// The same with the next work, because the batch has failed.
    func configureIndexesLater(_ definitions: [RealtimeIndexDefinition], of namespace: String) {
        refusedIndexes[namespace] = definitions
    }

    private enum FeedItem {
        case commit(RealtimeCommitFeed)
        case answer((DocumentError?) -> HubAnswer)
    }

    /// Stores changes of rows.
    ///
    /// - Returns: what the rows were before, if listeners need that and it isn't much.
    func store(
        _ changes: RowChanges, of namespace: String, in storage: any StorageWriter
    ) throws -> [(path: [UInt8], row: [UInt8]?)]? {
        if catalog.namespaces[namespace] == nil || !changes.hidden.isEmpty || changes.adopted != nil {
            update(namespace) { record, makeTree in
                for range in changes.hidden { record.layout.replace(range, with: makeTree()) }
                if let extent = changes.adopted { record.layout.adopt(extent) }
            }
            // From now on, what becomes garbage of it must go before the tree around it gets rows there.
            if let extent = changes.adopted { background.release(extent.tree, of: namespace) }
        }
        guard let layout = catalog.namespaces[namespace]?.layout else { return nil }
        var before: [(path: [UInt8], row: [UInt8]?)]?
        if hub.hasQueries, changes.hidden.isEmpty, changes.adopted == nil, changes.count <= Self.maxUndoneRows,
            changes.bytes <= Self.maxUndoneBytes
        {
            before = []
        }
        var undoneBytes = 0
        for change in changes.all {
            let key = TreeKey.stored(change.path, inTree: layout.tree(of: change.path))
            if before != nil {
                let row = try storage.get(.tree, key)
                undoneBytes += change.path.count + (row?.count ?? 0)
                if undoneBytes > Self.maxUndoneBytes { before = nil } else { before?.append((change.path, row)) }
            }
            if let row = change.row { try storage.put(.tree, key, row) } else { try storage.delete(.tree, key) }
        }
        return before
    }

    /// What is kept of a commit to undo it for listeners.
    private static let maxUndoneRows = 256
    private static let maxUndoneBytes = 64 * 1024

    /// Records the changes of a commit.
    ///
    /// - Parameter before: what ``store(_:of:in:)`` has returned.
    func note(
        _ rows: RowChanges, _ changes: [RealtimeAppliedChange], in namespace: String, version: Int64,
        before: [(path: [UInt8], row: [UInt8]?)]?
    ) {
        recent.append(rows, in: namespace, version: version)
        nodes.willChange(rows, changes, in: namespace)
        feed.append(
            .commit(
                RealtimeCommitFeed(
                    version: version, namespace: namespace, changes: changes, before: before,
                    generation: catalog.generation, bytes: rows.bytes)))
    }

    /// Answers a caller once the batch is durable: after the listeners have the commits so far, and before they have later
    /// ones.
    ///
    /// - Parameter answer: receives the error if nothing of the batch was kept.
    func answer(in batch: CommitBatch, _ answer: @escaping (DocumentError?) -> HubAnswer) {
        feed.append(.answer(answer))
        guard !hasAnswers else { return }
        hasAnswers = true
        batch.whenDurable { _ in self.answerAtOnce() }
    }

    /// Answers those who are answered at once, with the batch's other answers.
    private func answerAtOnce() {
        var answers: [() -> Void] = []
        swap(&answers, &direct)
        for answer in answers { answer() }
    }

    private func publish(upTo version: Int64?, _ error: DocumentError?) {
        var jobs: [HubJob] = []
        for item in feed {
            switch item {
            case .commit(let commit): if error == nil { jobs.append(.commit(commit)) }
            case .answer(let answer):
                switch answer(error) {
                case .inOrder(let job): jobs.append(job)
                case .atOnce(let completion): direct.append(completion)
                }
            }
        }
        feed = []
        hasAnswers = false
        if let version { jobs.append(.reached(version)) }
        hub.publish(jobs)
    }

    // MARK: Staged values

    /// A new tree for the rows of a staged value. It is garbage until a write puts it into place, so that it is removed if
    /// that doesn't happen, also after a restart.
    ///
    /// - Returns: its number, or `unknownNamespace`.
    func makeStagedTree(of namespace: String, held hold: StagedHold) -> Result<UInt32, RealtimeFailure> {
        do throws(RealtimeFailure) { _ = try record(of: namespace) } catch { return .failure(error) }
        var tree: UInt32 = 0
        update(namespace) { record, makeTree in
            tree = makeTree()
            record.layout.garbage.append(TreeLayout.Extent(range: .all, tree: tree))
        }
        background.hold(tree, by: hold)
        return .success(tree)
    }

    /// Whether the rows of a staged value are all there. They aren't once a write has put them into place, or failed to.
    func hasStagedTree(_ tree: UInt32) -> Bool { background.holds(tree) }

    /// Lets the background work remove the rows of a staged value, unless they were put into place.
    func releaseStagedTree(_ tree: UInt32, of namespace: String) { background.release(tree, of: namespace) }

    // MARK: The writer's life cycle

    func start() throws { try hub.start() }

    func refuseAll(_ error: DocumentError) {
        fail(waiters: RealtimeFailure(from: error))
    }

    private func fail(waiters error: RealtimeFailure) {
        for waiter in waiters { waiter(error) }
        for waiter in roomWaiters { waiter.completion(error) }
        waiters = []
        roomWaiters = []
    }

    func shutDown() async {
        nodes.close()
        await hub.shutDown()
    }

    /// Calls back once no background work is left, or with the reason why it doesn't go on.
    func whenSettled(_ completion: @escaping @Sendable (RealtimeFailure?) -> Void) { waiters.append(completion) }

    /// Calls back once a namespace has little garbage, or with the reason why that isn't removed: so a client that writes one
    /// large value after the other doesn't fill the disk.
    func whenRoom(in namespace: String, _ completion: @escaping @Sendable (RealtimeFailure?) -> Void) {
        if garbage(of: namespace) <= Self.maxGarbage { return completion(nil) }
        roomWaiters.append((namespace, completion))
    }

    private func garbage(of namespace: String) -> Int {
        catalog.namespaces[namespace]?.layout.garbage.count { background.isRemovable($0) } ?? 0
    }

    // MARK: Batches

    func work(in batch: CommitBatch, to storage: any StorageWriter, isIdle: Bool) throws {
        background.prefer(roomWaiters.first?.namespace)
        // The more waits, the more is done: a batch's commits may leave much behind. Each row is looked for among all
        // extents, and each batch writes the list of what waits.
        let backlog = background.backlog(in: catalog, maxExtents: configuration.maxExtents)
        let steps = 1 + min(backlog / 4, Self.maxFurtherSteps)
        let rows = isIdle ? configuration.maxIdleSweptRows : configuration.maxSweptRows * min(steps, 8)
        let mayWork = isIdle || !background.waitsForIdle && !batch.isForOneJob
        if mayWork { for (namespace, indexes) in refusedIndexes { configureIndexes(indexes, of: namespace) } }
        for _ in 0..<steps where mayWork && !background.isDone {
            // A copy: what the step changes in the catalog is looked at again.
            var work = background
            // All commits wait for the steps together.
            let bytes = BackgroundWork.maxMovedBytes / steps
            try work.step(self, storage, atMost: max(rows / steps, 1), bytes: bytes) { error, namespace in
                batch.report(error, "removing, moving or indexing rows of the database \(namespace)")
            }
            background = work
        }
        guard isCatalogChanged else { return }
        try catalog.write(to: storage, since: durable)
        isCatalogChanged = false
    }

    var generation: Int64? { catalog.generation }

    func expire() -> Int64? {
        background.retry(in: catalog)
        return nil
    }

    func committed(_ version: Int64?) {
        if catalog.generation != durable.generation { catalogs.add(catalog) }
        durable = catalog
        configuredIndexes = [:]
        nodes.committed(version)
        publish(upTo: version, nil)
        let place = roomWaiters.partition { garbage(of: $0.namespace) <= Self.maxGarbage }
        for waiter in roomWaiters[place...] { waiter.completion(nil) }
        roomWaiters.removeSubrange(place...)
        guard background.isDone else { return }
        guard !waiters.isEmpty else { return }
        let obstacle = background.obstacle(in: catalog).map { RealtimeFailure(from: $0) }
        for waiter in waiters { waiter(obstacle) }
        waiters = []
    }

    func rollBack(to version: Int64, _ error: DocumentError, isDamage: Bool) {
        // SQLite rolls back for a read with an I/O error. Commits don't meet it again.
        if isDamage || background.isObstructed { background.waitForIdle() }
        catalog = durable
        isCatalogChanged = false
        refusedIndexes.merge(configuredIndexes) { $1 }
        configuredIndexes = [:]
        recent.rollBack(to: version)
        nodes.rolledBack()
        publish(upTo: nil, error)
        background.begin(with: catalog)
        background.forgetAll(butOf: catalog)
        background.isStuck = true
        fail(waiters: RealtimeFailure(from: error))
    }

    var pause: Duration? { background.pause ?? (refusedIndexes.isEmpty ? nil : .seconds(1)) }

    func check(_ run: CheckRun) throws -> (any Sendable)? {
        let check = TreeCheck(run)
        try run.part("the Realtime Databases") { try check.check() }
        return check.result
    }
}

/// How a caller is answered.
enum HubAnswer {
    /// By the listeners' thread.
    case inOrder(HubJob)
    /// By the writer's thread: no listener has to have the effects before.
    case atOnce(() -> Void)
}

extension RealtimeFailure {
    static func unknownNamespace(_ name: String) -> RealtimeFailure {
        RealtimeFailure(
            .unknownNamespace,
            "the database \"\(name)\" doesn't exist; add it to \"database.namespaces\" in functions.json")
    }
}
