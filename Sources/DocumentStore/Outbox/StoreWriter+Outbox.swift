import DocumentModel

extension StoreWriter {
    /// Does a job on the outbox in the open batch.
    ///
    /// - Throws: where storing failed and the batch must not be kept.
    func work(on job: OutboxJob, _ storage: any StorageWriter) throws {
        do {
            let count = try perform(job.work, storage)
            outboxAnswers.append((job.completion, .success(count)))
        } catch {
            outboxAnswers.append((job.completion, .failure(DocumentError(from: error))))
            throw error
        }
    }

    private func perform(_ work: OutboxJob.Work, _ storage: any StorageWriter) throws -> Int {
        let now = store.now()
        switch work {
        case .end(let lease, let outcome, let firstTry):
            guard store.outbox.holds(lease) else { return 0 }
            endedLeases.append(lease)
            guard let delivery = try storage.delivery(lease.id) else { return 0 }
            try end(delivery, outcome, firstTry, now, storage)
            return 1
        case .retry(let ids):
            return try forEach(ids, storage) { delivery in
                try storage.change(delivery, to: .pending(due: now), at: now, &news) {
                    ($0.tries, $0.executions, $0.firstTry) = (0, 0, nil)
                }
            }
        case .drop(let ids):
            return try forEach(ids, storage) { try storage.finish($0, at: now, &news) }
        case .bury(let ids, let reason):
            return try forEach(ids, storage) { delivery in
                if case .dead = delivery.state { return }
                try storage.change(delivery, to: .dead(now), at: now, &news) { $0.lastError = reason }
            }
        case .keep(let records, let runs):
            for record in records {
                if let value = record.value {
                    try storage.put(.deliveries, OutboxKey.record(record.name), value)
                } else {
                    try storage.delete(.deliveries, OutboxKey.record(record.name))
                }
            }
            guard !runs.isEmpty else { return 0 }
            let version = max(now.microseconds, lastVersion + 1)
            for (index, run) in runs.enumerated() {
                let event = Event(
                    id: EventID(version: version, ordinal: UInt32(index)), time: run.due, auth: EventAuth(.system),
                    content: .schedule(job: run.function, isManual: run.isManual))
                try storage.put(event, for: [EventReceiver(function: run.function, due: now)], at: now, &news)
            }
            settle(version)
            return runs.count
        }
    }

    private func end(
        _ delivery: Delivery, _ outcome: DeliveryOutcome, _ firstTry: Timestamp?, _ now: Timestamp,
        _ storage: any StorageWriter
    ) throws {
        func note(_ failure: DeliveryFailure, in delivery: inout Delivery) {
            delivery.tries += 1
            if failure.wasExecuted { delivery.executions += 1 }
            delivery.lastError = failure.message
            delivery.lastStatus = failure.status
            delivery.firstTry = delivery.firstTry ?? firstTry
        }
        switch outcome {
        case .succeeded, .dropped: try storage.finish(delivery, at: now, &news)
        case .retry(let due, let failure):
            try storage.change(delivery, to: .pending(due: due), at: now, &news) { note(failure, in: &$0) }
        case .dead(let failure):
            try storage.change(delivery, to: .dead(now), at: now, &news) { note(failure, in: &$0) }
        }
    }

    /// Those that nobody works on at the moment.
    private func forEach(
        _ ids: [DeliveryID], _ storage: any StorageWriter, _ body: (Delivery) throws -> Void
    ) throws -> Int {
        var count = 0
        for id in ids where !store.outbox.isLeased(id) {
            guard let delivery = try storage.delivery(id) else { continue }
            try body(delivery)
            count += 1
        }
        return count
    }

    /// The delivery that a commit completes is over with it.
    func complete(_ lease: DeliveryLease, _ now: Timestamp, _ storage: any StorageWriter) throws {
        guard let delivery = try storage.delivery(lease.id) else { return }
        endedLeases.append(lease)
        try storage.finish(delivery, at: now, &news)
    }

    // MARK: With batches

    func publishOutbox() {
        for lease in endedLeases { store.outbox.end(lease) }
        endedLeases = []
        store.outbox.tell(news)
        news = OutboxNews()
        for answer in outboxAnswers { answer.completion(answer.result) }
        outboxAnswers = []
    }

    /// Nothing of the batch was kept: whoever had a lease still has it.
    func failOutbox(_ error: DocumentError) {
        endedLeases = []
        news = OutboxNews()
        for answer in outboxAnswers { answer.completion(.failure(error)) }
        outboxAnswers = []
    }

    // MARK: With commits

    /// - Throws: `DocumentError` where an effect is impossible; nothing was written then.
    func check(_ effects: [Effect], at now: Timestamp, _ storage: any StorageWriter) throws {
        guard !effects.isEmpty else { return }
        let routes = store.outbox.routes
        var names: Set<[String]> = []
        for case .enqueue(let task) in effects {
            guard routes.hasQueue(task.queue) else {
                let known = routes.queueNames
                throw DocumentError(
                    .notFound,
                    "there is no task queue \(task.queue); "
                        + (known.isEmpty ? "no function takes tasks" : "there are \(known.joined(separator: ", "))"))
            }
            guard let name = task.name else { continue }
            guard names.insert([task.queue, name]).inserted else {
                throw DocumentError(.alreadyExists, "two tasks of one commit are named \(name)")
            }
            try storage.takeName(name, of: task.queue, at: now, isTrial: true)
        }
    }

    /// Writes the events of a commit's changes and effects, and ends the delivery that it completes.
    ///
    /// - Throws: where storing failed half-way.
    func putEvents(
        of changes: [DocumentChange], _ effects: [Effect], _ version: Int64, _ context: OperationContext,
        _ now: Timestamp, _ storage: any StorageWriter
    ) throws {
        guard !changes.isEmpty || !effects.isEmpty else { return }
        // Events are named by the version, so nothing else may have it.
        settle(version)
        let routes = store.outbox.routes
        var maker = EventMaker(version: version, context: context, maxDepth: routes.maxDepth)
        if context.firesEvents {
            for change in changes {
                let triggers = routes.triggers(of: change)
                guard !triggers.isEmpty else { continue }
                let event = maker.make(.document(change.path, before: change.before, after: change.after))
                let receivers = triggers.map { trigger in
                    EventReceiver(
                        function: trigger.function, due: now,
                        orderKey: trigger.isOrdered ? DocumentKeys.key(of: change.path) : nil,
                        deadBecause: maker.loop(to: trigger.function))
                }
                try storage.put(event, for: receivers, at: now, &news)
            }
        }
        for effect in effects {
            switch effect {
            case .enqueue(let task):
                if let name = task.name { try storage.takeName(name, of: task.queue, at: now, isTrial: false) }
                let due = max(task.scheduleTime ?? now, now)
                // What waits for a time is paced by its author, and no loop that runs away.
                let event = maker.make(.task(task), isNewChain: due > now)
                let receiver = EventReceiver(
                    function: task.queue, due: due, taskName: task.name,
                    deadBecause: due > now ? nil : maker.loop(to: task.queue))
                try storage.put(event, for: [receiver], at: now, &news)
            case .publish(let cloudEvent):
                let receivers = routes.receivers(of: cloudEvent).map {
                    EventReceiver(function: $0, due: now, deadBecause: maker.loop(to: $0))
                }
                guard !receivers.isEmpty else { continue }
                try storage.put(maker.make(.custom(cloudEvent)), for: receivers, at: now, &news)
            }
        }
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
