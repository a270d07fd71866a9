import DocumentModel
import DocumentStore
import Synchronization

/// The server's side of a Listen stream, whatever the wire: targets come and go, and the client receives what changes in
/// them, at times at which all of them are complete.
///
/// Nothing is pushed: the sender of the messages takes them when the client can receive them. If it can't for long, the
/// store ends its listeners, which then continue from where the client is.
final class ListenStream: Sendable {
    private struct Target {
        var target: ListenTarget
        var isOnce: Bool
        /// Whether the client has its complete result.
        var isCurrent = false
        /// Whether what comes next replaces what the client has.
        var isReset = false
        /// Whether it is to continue from where the client is.
        var isResuming = false

        /// The documents of a query with a projection aren't those of others.
        var isProjected: Bool { if case .query(let query) = target { query.projection != nil } else { false } }
    }

    private struct State {
        var targets: [Int32: Target] = [:]
        /// Answers that wait for nothing.
        var answers: [ListenResponse] = []
        /// The time up to which the client has everything.
        var position: Timestamp?
        var isClosed = false
    }

    private let group: ListenerGroup
    private let context: @Sendable () -> OperationContext
    private let state = Mutex(State())
    private let onNews: @Sendable () -> Void

    /// - Parameters:
    ///   - context: makes the context of a target's reads, by the rules of the moment.
    ///   - onNews: called when ``take()`` may return something. It must not block, nor call this stream.
    init(
        _ store: DocumentStore, context: @escaping @Sendable () -> OperationContext,
        onNews: @escaping @Sendable () -> Void
    ) {
        group = ListenerGroup(store, onNews: onNews)
        self.context = context
        self.onNews = onNews
    }

    func close() {
        state.withLock { $0.isClosed = true }
        group.close()
    }

    func receive(_ request: ListenRequest) {
        switch request {
        case .add(let request): add(request)
        case .remove(let id):
            group.remove(id)
            state.withLock { state in
                state.targets[id] = nil
                state.answers.append(.targets(.remove, targets: [id], cause: nil, position: nil))
            }
        }
        onNews()
    }

    private func add(_ request: ListenTargetRequest) {
        let id = request.id
        group.remove(id)
        state.withLock { state in
            state.answers.append(.targets(.add, targets: [id], cause: nil, position: nil))
            state.targets[id] = nil
        }
        do throws(DocumentError) {
            guard id != 0 else { throw .invalidArgument("a target's id must not be 0") }
            let target = try request.target.get()
            state.withLock { $0.targets[id] = Target(target: target, isOnce: request.isOnce) }
            try group.listen(to: target, as: id, from: request.position, in: context())
        } catch {
            refuse(id, error)
        }
    }

    private func refuse(_ id: Int32, _ error: DocumentError) {
        state.withLock { state in
            state.targets[id] = nil
            state.answers.append(.targets(.remove, targets: [id], cause: error, position: nil))
        }
    }

    /// Decides on all targets again, because the rules have changed: those that may no longer be listened to end, and the
    /// others go on.
    func decideAgain() {
        let targets = state.withLock { $0.isClosed ? [:] : $0.targets }
        for id in targets.keys { listenAgain(id) }
        onNews()
    }

    // MARK: What the client receives

    /// Takes the next messages. For one caller at a time.
    ///
    /// - Returns: an empty list if there are none.
    func take() -> [ListenResponse] {
        let answers = state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
        // A target's first messages come after the answer to its request.
        guard answers.isEmpty else { return answers }
        guard let batch = group.take() else { return [] }
        return messages(of: batch)
    }

    private func messages(of batch: ListenerGroup.Batch) -> [ListenResponse] {
        var (first, last): ([ListenResponse], [ListenResponse]) = ([], [])
        var documents = ListenBatch(at: batch.time)
        var current: [Int32] = []
        for (id, news) in batch.news {
            guard let target = state.withLock({ $0.targets[id] }) else { continue }
            switch news {
            case .failed(let error):
                state.withLock { $0.targets[id] = nil }
                documents.drop(id)
                last.append(.targets(.remove, targets: [id], cause: error, position: nil))
            case .event(.startOver):
                documents.drop(id)
                // If it can't continue, it begins again.
                if target.isResuming || !target.isCurrent { state.withLock { $0.targets[id]?.isReset = true } }
                listenAgain(id)
            case .event(let event):
                state.withLock { $0.targets[id]?.isResuming = false }
                if target.isReset {
                    first.append(.targets(.reset, targets: [id], cause: nil, position: nil))
                    state.withLock { $0.targets[id]?.isReset = false }
                }
                documents.add(event, of: id, target.target, isProjected: target.isProjected)
                if !target.isCurrent || target.isReset {
                    state.withLock { $0.targets[id]?.isCurrent = true }
                    current.append(id)
                }
            }
        }
        var messages = first + documents.messages
        if !current.isEmpty {
            messages += current.map { .targets(.current, targets: [$0], cause: nil, position: batch.time) }
        }
        messages += last
        state.withLock { $0.position = batch.time }
        if !messages.isEmpty {
            messages.append(.targets(.noChange, targets: [], cause: nil, position: batch.time))
        }
        for id in current where state.withLock({ $0.targets[id]?.isOnce ?? false }) {
            group.remove(id)
            state.withLock { $0.targets[id] = nil }
            messages.append(.targets(.remove, targets: [id], cause: nil, position: nil))
        }
        return messages
    }

    /// Continues from where the client is; a target that the client doesn't have whole begins again.
    private func listenAgain(_ id: Int32) {
        let known = state.withLock { state -> (ListenTarget, Timestamp?)? in
            guard var target = state.targets[id] else { return nil }
            target.isResuming = target.isCurrent && !target.isReset
            target.isReset = !target.isResuming
            state.targets[id] = target
            return (target.target, target.isResuming ? state.position : nil)
        }
        guard let (target, position) = known else { return }
        do throws(DocumentError) {
            try group.listen(to: target, as: id, from: position, in: context())
        } catch {
            refuse(id, error)
        }
    }
}
