import StorageEngine
import DocumentModel

extension StoreWriter {
    // MARK: Before anything of a commit is written

    /// The delivery that a commit works on, where it ends with that.
    ///
    /// - Throws: `failedPrecondition` where the lease is over, or its delivery isn't there to be worked on any more.
    func delivery(
        of context: OperationContext, completing: Bool, _ storage: any StorageWriter
    ) throws -> Delivery? {
        guard let lease = context.delivery else { return nil }
        guard store.outbox.isCurrent(lease), !outboxBatch.ended.contains(lease) else { throw DocumentError.leaseEnded }
        guard completing else { return nil }
        guard let delivery = try storage.delivery(lease.id), delivery.due != nil else { throw DocumentError.leaseEnded }
        return delivery
    }

    /// - Throws: `DocumentError` where an effect is impossible.
    func check(
        _ effects: [Effect], _ context: OperationContext, at now: Timestamp, _ storage: any StorageWriter
    ) throws {
        guard !effects.isEmpty else { return }
        guard context.policy == nil else {
            throw DocumentError(.permissionDenied, "only functions and admins enqueue tasks and publish events")
        }
        try DocumentLimits.check(effects, at: now)
        let routes = store.outbox.routes
        var names: Set<[String]> = []
        for effect in effects {
            switch effect {
            case .publish: break
            case .enqueue(let task):
                try routes.checkHasQueue(task.queue)
                guard let name = task.name else { continue }
                guard names.insert([task.queue, name]).inserted else {
                    throw DocumentError(.alreadyExists, "two tasks of one commit for \(task.queue) are named \(name)")
                }
                try storage.checkIsFree(name, of: task.queue, at: now)
            case .deleteTask(let id, let queue):
                try routes.checkHasQueue(queue)
                // What can't be read is found out before anything is written.
                _ = try storage.task(id, of: queue)
            }
        }
    }

    // MARK: With a commit

    /// Writes the events of a commit's changes and effects, and ends the delivery that it completes.
    ///
    /// - Throws: where storing failed half-way.
    func putEvents(
        of changes: [DocumentChange], _ effects: [Effect], completing delivery: Delivery?, _ version: Int64,
        _ context: OperationContext, _ now: Timestamp, _ storage: any StorageWriter
    ) throws {
        if let delivery, let lease = context.delivery {
            outboxBatch.ended.insert(lease)
            try storage.finish(delivery, as: .succeeded, at: now, &outboxBatch.news)
        }
        guard !effects.isEmpty || !changes.isEmpty && context.firesEvents else { return }
        let routes = store.outbox.routes
        var maker = EventMaker(version: version, context: context, maxDepth: routes.maxDepth)
        if context.firesEvents {
            for change in changes {
                let triggers = routes.triggers(of: change)
                guard !triggers.isEmpty else { continue }
                let receivers = triggers.map { trigger in
                    EventReceiver(
                        function: trigger.function, due: now,
                        orderKey: trigger.isOrdered ? DocumentKeys.key(of: change.path) : nil,
                        deadBecause: maker.loop(to: trigger.function))
                }
                let event = maker.make(.document(change.path, before: change.before, after: change.after))
                try put(event, for: receivers, now, storage)
            }
        }
        for effect in effects {
            switch effect {
            case .enqueue(let task):
                let due = max(task.scheduleTime ?? now, now)
                let receiver = EventReceiver(
                    function: task.queue, due: due, taskName: task.name,
                    deadBecause: task.startsNewChain ? nil : maker.loop(to: task.queue))
                let event = maker.make(.task(task), isNewChain: task.startsNewChain)
                try put(event, for: [receiver], now, storage)
            case .publish(let cloudEvent):
                let receivers = routes.receivers(of: cloudEvent).map {
                    EventReceiver(function: $0, due: now, deadBecause: maker.loop(to: $0))
                }
                guard !receivers.isEmpty else { continue }
                try put(maker.make(.custom(cloudEvent)), for: receivers, now, storage)
            case .deleteTask(let id, let queue):
                guard let task = try storage.task(id, of: queue) else { continue }
                // Where somebody works on it this goes on, and finds no task any more to try again.
                _ = hold(task.id)
                try storage.finish(task, as: .dropped, at: now, &outboxBatch.news)
                outboxBatch.news.withdraw(task.id)
            }
        }
    }

    private func put(
        _ event: Event, for receivers: [EventReceiver], _ now: Timestamp, _ storage: any StorageWriter
    ) throws {
        // Events are named by the version, so nothing else may have it.
        settle(event.id.version)
        batchBytes += try storage.put(event, for: receivers, at: now, &outboxBatch.news)
    }
}

/// Makes the events of one commit.
private struct EventMaker {
    let version: Int64
    let auth: EventAuth
    let chain: [String]
    let maxDepth: Int
    private var ordinal: UInt32 = 0

    init(version: Int64, context: OperationContext, maxDepth: Int) {
        self.version = version
        self.maxDepth = maxDepth
        auth = context.auth
        chain = context.chain
    }

    mutating func make(_ content: Event.Content, isNewChain: Bool = false) -> Event {
        defer { ordinal += 1 }
        return Event(
            id: EventID(version: version, ordinal: ordinal), time: Timestamp(microseconds: version), auth: auth,
            chain: isNewChain ? [] : chain, content: content)
    }

    /// Why a function is not told any more: it would be one too many in the chain.
    func loop(to function: String) -> String? {
        guard chain.count >= maxDepth else { return nil }
        return "events have led from function to function \(chain.count) times, the limit: "
            + (chain + [function]).joined(separator: " → ")
    }
}
