import CommitPipeline
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import RealtimeTesting
import Synchronization

/// What a listener has, kept up to date by its pushes.
final class ListenerView: Sendable {
    private struct State {
        var node: RealtimeNode?
        var pushes: [RealtimePush] = []
        /// The state at the beginning and after each push.
        var history: [(version: Int64, node: RealtimeNode?)] = []
        var failure: RealtimeFailure?

        mutating func take(_ push: RealtimePush) {
            pushes.append(push)
            for change in push.changes { node.set(change.node, at: change.target) }
            history.append((push.version, node))
        }
    }

    let path: RealtimePath
    let query: RealtimeQuery?
    private let state = Mutex(State())
    private let listener = Mutex<RealtimeListener?>(nil)

    /// What a client that was away has.
    struct Known: Sendable {
        var node: RealtimeNode?
        /// Nil if it sends the hash of the whole alone.
        var compound: RealtimeCompoundHash?

        /// What the client has after it has come back: what it has, changed in the ranges that differ, or all again.
        func node(in state: RealtimeSnapshot, _ path: RealtimePath, _ query: RealtimeQuery?) throws -> RealtimeNode? {
            let current = try state.node(at: path, matching: query)
            let returned = try returned(to: current, in: state, path, query)
            // Hashes have numbers as doubles: a client keeps a large integer that has become its neighbor.
            return returned.hash == current.hash ? current : returned
        }

        private func returned(
            to current: RealtimeNode?, in state: RealtimeSnapshot, _ path: RealtimePath, _ query: RealtimeQuery?
        ) throws -> RealtimeNode? {
            if try state.hash(at: path, matching: query) == node.hash { return node }
            guard let compound,
                let ranges = try state.ranges(at: path, matching: query, differingFrom: compound), !ranges.isEmpty
            else { return current }
            var client = MobileClient(node)
            for range in ranges { client.merge(range) }
            return client.node
        }
    }

    /// Returns once the listener has begun.
    ///
    /// - Parameters:
    ///   - known: what the client has; nil for nothing.
    ///   - meanwhile: runs on the reader's thread, after the initial data were read.
    ///   - received: called with each push.
    init(
        _ store: RealtimeStore, _ path: RealtimePath, _ query: RealtimeQuery? = nil, of caller: ReadCaller? = nil,
        returning known: Known? = nil, meanwhile: @escaping @Sendable () -> Void = {},
        received: @escaping @Sendable (RealtimePush) -> Void = { _ in }
    ) async {
        self.path = path
        self.query = query
        await withCheckedContinuation { continuation in
            let listener = store.listen(
                to: path, matching: query, in: RealtimeFixture.namespace, of: caller,
                read: { state in
                    let node =
                        if let known {
                            try known.node(in: state, path, query)
                        } else {
                            try state.node(at: path, matching: query)
                        }
                    meanwhile()
                    return (node, state.version)
                },
                started: { [self] result in
                    state.withLock { state in
                        switch result {
                        case .success(let (node, version)):
                            state.node = node
                            state.history.append((version, node))
                        case .failure(let failure): state.failure = failure
                        }
                    }
                    continuation.resume()
                },
                receive: { [self] push in
                    state.withLock { $0.take(push) }
                    received(push)
                },
                failed: { [self] failure in state.withLock { $0.failure = failure } })
            self.listener.withLock { $0 = listener }
        }
    }

    var node: RealtimeNode? { state.withLock { $0.node } }
    var failure: RealtimeFailure? { state.withLock { $0.failure } }
    var history: [(version: Int64, node: RealtimeNode?)] { state.withLock { $0.history } }

    func takePushes() -> [RealtimePush] {
        state.withLock { state in
            defer { state.pushes = [] }
            return state.pushes
        }
    }

    func cancel() { listener.withLock { $0?.cancel() } }
}
