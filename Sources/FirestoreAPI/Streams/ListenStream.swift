import DocumentModel
import DocumentStore
import Sharing
import Synchronization

/// The server's side of a Listen stream, whatever the wire: targets come and go, and the client receives what changes in
/// them, at times at which all of them are complete.
///
/// Nothing is pushed: the sender of the messages takes them when the client can receive them. If it can't for long, the
/// store ends its listeners, which then continue from where the client is.
final class ListenStream: Sendable {
    /// A reference, since a copy of what it listens to costs more than what is done with it for each event.
    private final class Target {
        let target: ListenTarget
        let isOnce: Bool
        /// The documents of a query with a projection aren't those of others.
        let isProjected: Bool
        /// The time up to which the client has the target; nil until its result is complete.
        var position: Timestamp?
        /// Whether what comes next replaces what the client has.
        var isReset: Bool
        /// Whether it continues from its position, so that it is behind the others.
        var isResuming = false

        /// Whether the client would see it at another time than the others.
        var isBehind: Bool { position != nil && (isResuming || isReset) }

        init(_ target: ListenTarget, isOnce: Bool, isReset: Bool) {
            self.target = target
            self.isOnce = isOnce
            self.isReset = isReset
            isProjected = if case .query(let query) = target { query.projection != nil } else { false }
        }
    }

    /// What was taken from the store and waits because a target is behind: what came before that, and what brought up those that
    /// were behind.
    private struct Collected {
        var resets: [Int32] = []
        var documents = ListenBatch()
        var current: [Int32] = []
        var removals: [(id: Int32, cause: DocumentError)] = []

        var isEmpty: Bool { resets.isEmpty && documents.isEmpty && current.isEmpty && removals.isEmpty }

        /// Forgets what a target has so far: the client hasn't seen any of it.
        mutating func forget(_ id: Int32) {
            resets.removeAll { $0 == id }
            documents.drop(id)
            current.removeAll { $0 == id }
            removals.removeAll { $0.id == id }
        }
    }

    private struct State {
        var targets: [Int32: Target] = [:]
        /// The highest id of all targets so far.
        var highestID: Int32 = 0
        /// Answers that wait for nothing.
        var answers: [ListenResponse] = []
        var collected = Collected()
        /// Whether the client learns that nothing has changed, if so.
        var mustRefresh = false
        var isClosed = false
        /// Why the stream ends.
        var failure: DocumentError?

        /// The id of a target without one: one that no target has, nor had, as far as there are such ids.
        func unusedID() -> Int32 {
            var id = highestID
            repeat { id = id == .max ? 1 : id + 1 } while targets[id] != nil
            return id
        }

        /// A target has failed. Clients drop a target for good if they are sent its error, but begin a stream again
        /// that has ended: so an error that may pass ends the stream.
        ///
        /// - Returns: the error that the target is removed with; nil if the stream ends.
        mutating func cause(_ error: DocumentError) -> DocumentError? {
            guard error.code == .unavailable else { return error.shortened }
            // Every message lets a client come back at once: it would do so again and again. After RESOURCE_EXHAUSTED
            // it waits for about a minute.
            failure = failure ?? (error.isOfShutdown ? error : DocumentError(.resourceExhausted, error.message))
            return nil
        }
    }

    private let group: ListenerGroup
    private let context: @Sendable () -> OperationContext
    private let onNews: @Sendable () -> Void
    private let limits: ClientLimits.Listen
    /// Held while a request, a replacement of rules or what the store has is handled. What is called meanwhile doesn't call
    /// this stream.
    private let state = Mutex(State())

    /// - Parameters:
    ///   - context: makes the context of a target's reads, by the rules of the moment.
    ///   - onNews: called when ``take()`` may return something. It must not block, nor call this stream.
    init(
        _ store: DocumentStore, limits: ClientLimits.Listen,
        context: @escaping @Sendable () -> OperationContext, onNews: @escaping @Sendable () -> Void
    ) {
        group = ListenerGroup(store, onNews: onNews)
        self.limits = limits
        self.context = context
        self.onNews = onNews
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.targets = [:]
            group.close()
        }
    }

    /// - Throws: what ends the stream.
    func receive(_ request: ListenRequest) throws(DocumentError) {
        try state.withLock { state throws(DocumentError) in
            guard !state.isClosed else { return }
            guard state.answers.count < limits.waitingAnswers else {
                throw DocumentError(.resourceExhausted, "too many answers wait to be received")
            }
            switch request {
            case .add(let request): add(request, &state)
            case .remove(let id):
                forget(id, &state)
                state.answers.append(.targets(.remove, targets: [id], cause: nil, position: nil))
            }
        }
        onNews()
    }

    /// Also the error that the target has failed with, if it waits: the client would take it for that of the next
    /// target with the same id.
    private func forget(_ id: Int32, _ state: inout State) {
        group.remove(id)
        state.targets[id] = nil
        state.collected.forget(id)
        // The web SDK, up to version 12.12, fails as a whole if it gets such an error after it has listened again.
        state.answers.removeAll { answer in
            if case .targets(.remove, [id], _?, _) = answer { true } else { false }
        }
    }

    private func add(_ request: ListenTargetRequest, _ state: inout State) {
        // The client learns it from the answer.
        let id = request.id == 0 ? state.unusedID() : request.id
        state.highestID = max(state.highestID, id)
        forget(id, &state)
        state.answers.append(.targets(.add, targets: [id], cause: nil, position: nil))
        do throws(DocumentError) {
            guard state.targets.count < limits.targetsPerStream else {
                throw DocumentError(
                    .resourceExhausted, "a stream may have \(limits.targetsPerStream) targets, the limit; remove one")
            }
            let target = Target(try request.target.get(), isOnce: request.isOnce, isReset: request.isReset)
            state.targets[id] = target
            try group.listen(
                to: target.target, as: id, from: request.position, isCounted: request.isCounted, in: context())
        } catch {
            state.targets[id] = nil
            guard let cause = state.cause(error) else { return }
            state.answers.append(.targets(.remove, targets: [id], cause: cause, position: nil))
        }
    }

    /// Decides on all targets again, because the rules have changed: those that may no longer be listened to end, and the
    /// others go on.
    func decideAgain() {
        state.withLock { state in
            for id in state.targets.keys.sorted() { listenAgain(id, &state) }
        }
        onNews()
    }

    /// Continues from where the client is; a target that the client doesn't have whole begins again.
    private func listenAgain(_ id: Int32, _ state: inout State) {
        guard let target = state.targets[id] else { return }
        state.collected.forget(id)
        target.isResuming = target.position != nil && !target.isReset
        target.isReset = !target.isResuming
        do throws(DocumentError) {
            try group.listen(
                to: target.target, as: id, from: target.isResuming ? target.position : nil, in: context())
        } catch {
            state.targets[id] = nil
            if let cause = state.cause(error) { state.collected.removals.append((id, cause)) }
        }
    }

    /// Tells the client how far it is, if nothing else does: it may continue from there.
    func refresh() {
        state.withLock { $0.mustRefresh = true }
        onNews()
    }

    // MARK: What the client receives

    /// Takes the next messages. For one caller at a time.
    ///
    /// - Returns: an empty list if there are none.
    /// - Throws: what ends the stream.
    func take() throws(DocumentError) -> [ListenResponse] {
        try state.withLock { state throws(DocumentError) -> [ListenResponse] in
            while true {
                if let failure = state.failure { throw failure }
                // A target's first messages come after the answer to its request.
                if !state.answers.isEmpty {
                    defer { state.answers = [] }
                    return state.answers
                }
                // While a target is behind, what the others have waits in the store, which counts it.
                let behind = Set(state.targets.lazy.filter { $0.value.isBehind }.map(\.key))
                // Before what comes up to it is taken: a later position might be ahead of what comes then.
                let position = group.position
                let batch = group.take(of: behind.isEmpty ? nil : behind)
                if let batch { collect(batch, &state) }
                guard state.failure == nil else { continue }
                if !behind.isEmpty {
                    if batch == nil { return [] }
                    // Once no target is behind, all are taken up to one time.
                    continue
                }
                let messages = messages(at: batch?.time ?? position, &state)
                if !messages.isEmpty || batch == nil {
                    defer { state.mustRefresh = false }
                    return messages.isEmpty && state.mustRefresh ? unchanged(at: position, &state) : messages
                }
            }
        }
    }

    /// All targets are as they were, up to a time.
    private func unchanged(at time: Timestamp, _ state: inout State) -> [ListenResponse] {
        guard state.collected.isEmpty, !state.targets.isEmpty,
            state.targets.values.allSatisfy({ $0.position.map { $0 <= time } ?? false && !$0.isBehind })
        else { return [] }
        for target in state.targets.values { target.position = time }
        return [.targets(.noChange, targets: [], cause: nil, position: time)]
    }

    private func collect(_ batch: ListenerGroup.Batch, _ state: inout State) {
        for (id, news) in batch.news {
            guard let target = state.targets[id] else { continue }
            switch news {
            case .failed(let error):
                state.targets[id] = nil
                state.collected.forget(id)
                if let cause = state.cause(error) { state.collected.removals.append((id, cause)) }
            case .event(.startOver):
                // What can't continue begins again.
                if target.isResuming { target.isReset = true }
                listenAgain(id, &state)
            case .event(let event):
                if target.isReset { state.collected.resets.append(id) }
                if target.position == nil || target.isReset, !state.collected.current.contains(id) {
                    state.collected.current.append(id)
                }
                target.isReset = false
                target.isResuming = false
                state.collected.documents.add(event, of: id, target.target, isProjected: target.isProjected)
            }
        }
    }

    /// What was collected, once no target is behind: the client would see half of a commit.
    private func messages(at time: Timestamp, _ state: inout State) -> [ListenResponse] {
        let collected = state.collected
        guard !collected.isEmpty, !state.targets.values.contains(where: \.isBehind) else { return [] }
        state.collected = Collected()
        var messages = collected.resets.map { id in
            ListenResponse.targets(.reset, targets: [id], cause: nil, position: nil)
        }
        messages += collected.documents.messages(at: time)
        messages += collected.current.map { .targets(.current, targets: [$0], cause: nil, position: time) }
        messages += collected.removals.map { .targets(.remove, targets: [$0.id], cause: $0.cause, position: nil) }
        for id in collected.current { state.targets[id]?.position = time }
        var isComplete = true
        for target in state.targets.values {
            if target.position == nil { isComplete = false } else { target.position = time }
        }
        // A token is for the targets that the client has whole; one for all would be kept for the others too.
        if !isComplete {
            let complete = state.targets.filter { $0.value.position != nil }.keys.sorted()
            if !complete.isEmpty {
                messages.append(.targets(.noChange, targets: complete, cause: nil, position: time))
            }
            messages.append(.snapshot(time))
        } else {
            messages.append(.targets(.noChange, targets: [], cause: nil, position: time))
        }
        for id in collected.current where state.targets[id]?.isOnce ?? false {
            group.remove(id)
            state.targets[id] = nil
            messages.append(.targets(.remove, targets: [id], cause: nil, position: nil))
        }
        return messages
    }
}
