import CommitPipeline
import DocumentModel
import RealtimeModel

/// A commit on its way to the writer: readers decide on it, and it is submitted in its turn among those of its client.
///
/// If the writer finds that what the decision depends on has changed, and that deciding again would take it long, the commit
/// returns to the readers. Those of its client that follow return too, so that they keep their order.
struct CommitAttempt: Sendable {
    let store: RealtimeStore
    let request: RealtimeCommit
    let context: OperationContext
    /// Nil if the order of the client's commits doesn't matter.
    let turn: RealtimeWriteTurn?
    let caller: ReadCaller?
    let completion: @Sendable (Result<RealtimeCommitted, RealtimeFailure>) -> Void
    /// How often the writer couldn't decide on it.
    private var undecided = 0
    /// Whether the writer has given it back.
    private var hasReturned = false

    /// How often a commit returns that the writer can't decide on.
    static let maxReturns = 5

    /// What deciding may cost on the writer. At last it is more: others may write all the time.
    var maxWriterCost: Int {
        let limits = store.configuration
        return undecided < Self.maxReturns ? limits.maxWriterCheckCost : limits.maxLastWriterCheckCost
    }

    init(
        _ request: RealtimeCommit, to store: RealtimeStore, in context: OperationContext, _ turn: RealtimeWriteTurn?,
        of caller: ReadCaller?, completion: @escaping @Sendable (Result<RealtimeCommitted, RealtimeFailure>) -> Void
    ) {
        self.request = request
        self.store = store
        self.context = context
        self.turn = turn
        self.caller = caller
        self.completion = completion
    }

    func begin() {
        guard request.isDecidedEarly else { return inTurn { submit(nil) } }
        guard let client = request.client, let target = request.conditionalTarget else { return decideSoon() }
        store.hub.admit(client, to: StaleTurns.Place(namespace: request.namespace, target: target)) { decideSoon() }
    }

    /// Runs a step when it is the commit's turn.
    private func inTurn(_ step: @escaping @Sendable () -> Void) {
        guard let turn, !hasReturned else { return step() }
        turn.submit(step)
    }

    // MARK: Decisions

    /// What needs little time doesn't wait for the turn of a long decision.
    private func decideSoon() {
        var cachePlace: NodeCache.Place?
        if request.check == nil || request.isCheckQuick, let (target, hash) = request.onlyCondition {
            let (known, place) = store.nodes.find(target.path, in: request.namespace)
            // A thread less to wait for, where many wait for one write after the other.
            if let known {
                let decision = EarlyDecision(request, of: target, ifHash: hash, known)
                return inTurn { submit(decision) }
            }
            cachePlace = place
        }
        // Most of what is hashed is a leaf. How large it is is seen only when it is read.
        if case .clientCommit(let client)? = caller, request.isSmall {
            decide(within: store.configuration.shortLimits, of: .clientGet(client), cachePlace)
        } else {
            decide(within: store.configuration.limits, of: caller, cachePlace)
        }
    }

    func decide() { decide(within: store.configuration.limits, of: caller, nil) }

    private func decide(within limits: RealtimeReadLimits, of caller: ReadCaller?, _ place: NodeCache.Place?) {
        let job = EarlyCheckJob(
            request: request, catalogs: store.catalogs, configuration: store.configuration, limits: limits,
            cache: place.map { (store.nodes, $0) }, now: store.pipeline.now, cancellation: context.cancellation
        ) { result in
            if case .success(nil) = result { return decide() }
            inTurn {
                switch result {
                case .success(let decision): submit(decision)
                case .failure(let failure): fail(failure)
                }
            }
        }
        store.pipeline.read(job, of: caller, limit: store.pipeline.configuration.maxWaiting)
    }

    // MARK: The writer

    private func submit(_ early: EarlyDecision?) {
        let job = RealtimeCommitJob(self, early: early)
        let isTaken = store.pipeline.submit(job, limit: store.pipeline.configuration.maxWaiting)
        if !isTaken { job.fail(CommitPipeline.shutDown) }
    }

    /// Called by the writer.
    ///
    /// - Returns: whether one before it has returned. Then it is submitted again after that one.
    func waits(with early: EarlyDecision?) -> Bool {
        guard let turn, !turn.hasCome else { return false }
        var again = self
        again.hasReturned = true
        return turn.wait { [again] in again.submit(early) }
    }

    /// Called by the writer, which can't decide on it.
    ///
    /// - Returns: the attempt to decide on again; nil after several.
    func returned() -> CommitAttempt? {
        guard undecided < Self.maxReturns else { return nil }
        turn?.hold()
        var again = self
        again.hasReturned = true
        again.undecided += 1
        return again
    }

    func fail(_ failure: RealtimeFailure) {
        finishTurn()
        store.hub.complete { [completion] in completion(.failure(failure)) }
    }

    /// Lets those that follow go on, once the commit is decided.
    func finishTurn() { if hasReturned { turn?.finish() } }
}
