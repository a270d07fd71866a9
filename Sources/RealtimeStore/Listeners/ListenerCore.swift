import CommitPipeline
import RealtimeModel
import Synchronization

/// One listener. Its variables are used by the listeners' thread only.
final class ListenerCore: @unchecked Sendable {
    enum Phase {
        /// The initial data are being read; what was pushed meanwhile.
        case starting([RealtimePush], bytes: Int)
        /// It has the state of a version, and receives what is newer.
        case active(from: Int64)
        /// A staged value has changed what it has, and will be read.
        case outdated
    }

    let id: UInt64
    let namespace: String
    let path: RealtimePath
    /// Nil if it listens to all that is at the path.
    let query: RealtimeQuery?
    /// Whose turn its reads wait for.
    let caller: ReadCaller?
    let receive: @Sendable (RealtimePush) -> Void
    let failed: @Sendable (RealtimeFailure) -> Void
    private var phase = Phase.starting([], bytes: 0)
    /// The version of the last change that must be read: of a staged value, or while too much waited for the initial data.
    private var unkeptVersion = Int64.min
    /// The group of its query, if it has one.
    weak var group: QueryGroup?

    init(
        id: UInt64, namespace: String, path: RealtimePath, query: RealtimeQuery?, caller: ReadCaller?,
        receive: @escaping @Sendable (RealtimePush) -> Void, failed: @escaping @Sendable (RealtimeFailure) -> Void
    ) {
        self.id = id
        self.namespace = namespace
        self.path = path
        // A query for everything is an order only.
        self.query = query.flatMap { $0.loadsAll ? nil : $0 }
        self.caller = caller
        self.receive = receive
        self.failed = failed
    }

    func push(_ push: RealtimePush) {
        switch phase {
        case .starting(var waiting, let bytes):
            // The only reference, so that appending copies nothing.
            phase = .starting([], bytes: 0)
            let isTooMuch =
                waiting.count >= WaitingChanges.maxCount || bytes + push.bytes > WaitingChanges.maxBytes
            guard unkeptVersion == .min, !isTooMuch else {
                unkeptVersion = push.version
                return
            }
            waiting.append(push)
            phase = .starting(waiting, bytes: bytes + push.bytes)
        case .active(let version): if push.version > version { receive(push) }
        case .outdated: break
        }
    }

    /// Called when the initial data, of a version, were delivered.
    ///
    /// - Returns: whether it must be reloaded.
    func begin(at version: Int64) -> Bool {
        guard case .starting(let waiting, _) = phase else { return false }
        guard version >= unkeptVersion else {
            phase = .outdated
            return true
        }
        phase = .active(from: version)
        for push in waiting { self.push(push) }
        return false
    }

    // MARK: Staged values

    var isOutdated: Bool { if case .outdated = phase { true } else { false } }

    /// A commit with a staged value has changed what it has.
    func invalidate(at version: Int64) {
        unkeptVersion = version
        if case .active(let known) = phase, version > known { phase = .outdated }
    }

    /// Receives all that it listens to.
    func reload(_ push: RealtimePush) {
        phase = .active(from: push.version)
        receive(push)
    }
}

/// A listener as its owner has it.
package final class RealtimeListener: Sendable {
    private let id: UInt64
    private let hub: RealtimeHub

    init(id: UInt64, hub: RealtimeHub) {
        self.id = id
        self.hub = hub
    }

    /// Ends the listener. What is being delivered at the moment may still come.
    package func cancel() { hub.remove(id) }
}
