import CommitPipeline
import DocumentModel
import RealtimeModel

/// Reads a listener's initial data.
struct ListenReadJob<Initial: Sendable>: SnapshotJob {
    let store: RealtimeStore
    let core: ListenerCore
    let cancellation: OperationCancellation?
    let read: @Sendable (RealtimeSnapshot) throws -> Initial
    let started: @Sendable (Result<Initial, RealtimeFailure>) -> Void

    func run(on snapshot: Snapshot) {
        let result = Result { () throws -> (Initial, [RealtimeIndexEntry]?) in
            let state = try store.snapshot(of: core.namespace, in: snapshot)
            // First, so that a client that may not read learns nothing of how much there is.
            let initial = try read(state)
            return (initial, try core.query.map { try state.matches(of: $0, at: core.path).entries })
        }.mapError { RealtimeFailure(from: $0) }
        let version = snapshot.version
        snapshot.complete { begin(at: version, result) }
    }

    var isWanted: Bool { cancellation?.isCancelled != true }

    func fail(_ error: DocumentError) { begin(at: 0, .failure(RealtimeFailure(from: error))) }

    private func begin(at version: Int64, _ result: Result<(Initial, [RealtimeIndexEntry]?), RealtimeFailure>) {
        let started = started
        let beginning =
            switch result {
            case .success(let (initial, matches)):
                ListenerBeginning(version: version, matches: matches) { failure in
                    started(failure.map { .failure($0) } ?? .success(initial))
                }
            case .failure(let failure):
                ListenerBeginning(version: version, failure: failure) { started(.failure($0 ?? failure)) }
            }
        store.hub.begin(core.id, beginning)
    }
}
