import DocumentModel
import DocumentStore
import TestSupport
import WorkerProtocol

/// What the store answered otherwise than the model.
struct Disagreement: Error, CustomStringConvertible {
    /// Which step it was; nil of what is looked at when all are done.
    var step: Int?
    var description: String
}

/// Runs steps on a store and a model side by side, and ends at the first answer that isn't the same.
struct ModelRun {
    let tested: StoreUnderTest
    var model: StoreModel
    var slots: [Int: ModelTransaction] = [:]
    /// Transactions that were aborted and can be retried, by slot.
    var aborted: [Int: ModelTransaction] = [:]
    /// The time up to which the state can't change any more, since it has been read.
    var final: Timestamp
    var listeners: [Int: FollowedListener] = [:]
    var feedPosition: Timestamp
    /// The transaction that was given its turn, and may keep others from committing, even once it was aborted.
    var turn: (id: TransactionID, since: Duration)?

    static func run(_ steps: [Step], on kind: StoreUnderTest.Kind) async throws {
        let tested = try StoreUnderTest(kind)
        var run = ModelRun(
            tested: tested, model: StoreModel(at: Timestamp(microseconds: 0)), final: tested.start,
            feedPosition: tested.start)
        do {
            for (index, step) in steps.enumerated() {
                do { try await run.take(step) } catch {
                    throw Disagreement(step: index, description: "\(error)")
                }
            }
            try await run.compareAll()
            for slot in run.listeners.keys { try await run.follow(slot) }
            try await run.tested.reopen()
            try await run.compareFeed(pageBytes: 1000)
            try await run.compareAll()
            try await run.tested.store.isSound()
            try await run.compareAll()
        } catch {
            // A store that doesn't answer can't be waited for either.
            Task { try await tested.close() }
            throw error
        }
        try await tested.close()
    }

    private mutating func take(_ step: Step) async throws {
        switch step {
        case .commit(let planned, let slot): try await commit(planned, slot)
        case .writeEach(let planned): try await writeEach(planned)
        case .get(let paths, let seen): try await read(.documents(paths), seen)
        case .query(let query, let seen): try await read(.query(query), seen)
        case .aggregate(let query, let fields, let seen): try await read(.aggregation(query, fields), seen)
        case .partition(let query, let points): try await partition(query, points)
        case .explain(let query): try await explain(query)
        case .begin(let slot, let readOnly): try await begin(slot, readOnly)
        case .retry(let slot): try await retry(slot)
        case .rollback(let slot): try await rollback(slot)
        case .wait(let seconds):
            tested.advance(seconds: seconds)
        case .reopen:
            try await tested.reopen()
            (slots, aborted, turn) = ([:], [:], nil)
            for (slot, followed) in listeners {
                if followed.position == nil { listeners[slot] = nil } else { listeners[slot]?.leave() }
            }
            try await compareAll()
        case .configure(let configuration):
            let store = tested.store
            try await Patience.wait(for: "\(step)") { try await store.configureIndexes(configuration) }
        case .listen(let slot, let target): try listen(slot, target)
        case .follow(let slot): try await follow(slot)
        case .leave(let slot):
            if listeners[slot]?.position == nil { listeners[slot] = nil } else { listeners[slot]?.leave() }
        case .feed(let pageBytes): try await compareFeed(pageBytes: pageBytes)
        case .indexesAreDone:
            let store = tested.store
            try await Patience.wait(for: "\(step)") { try await store.isSound() }
        }
    }

    private mutating func writeEach(_ planned: [PlannedWrite]) async throws {
        let present = ModelStateView(documents: model.current.documents)
        let writes = planned.map { $0.resolved(in: present) }
        let answer = try await ask(.batchWrite(writes))
        if Set(writes.map(\.path)).count < writes.count {
            return try expect(answer.code == .invalidArgument, "two writes of one document: \(answer)")
        }
        guard case .written(let results) = answer, results.count == writes.count else { throw unexpected(answer) }
        for (write, result) in zip(writes, results) {
            switch result {
            case .failure(let error): try accept(.failed(error), of: [write])
            case .success(let written):
                // A delete returns no time: each takes the next one.
                let time = max(tested.clock.timestamp(), Timestamp(microseconds: lastTime.microseconds + 1))
                let outcome = model.current.applying([write], at: time)
                try expect(outcome.refusals.isEmpty, "written, but the model refuses: \(outcome.refusals)")
                try expect(outcome.results == [written], "\(written) not \(outcome.results)")
                if outcome.state != model.current { model.become(outcome.state, at: time) }
                final = max(final, time)
            }
        }
    }

    /// The newest time that a commit can't have any more.
    var lastTime: Timestamp { max(model.time, final) }

    private mutating func commit(_ planned: [PlannedWrite], _ slot: Int?) async throws {
        let present = ModelStateView(documents: model.current.documents)
        let writes = planned.map { $0.resolved(in: present) }
        if let slot {
            if let transaction = slots[slot] { try await commit(writes, slot, transaction) }
            return
        }
        let answer = try await ask(.commit(writes, transaction: nil, completing: nil))
        try accept(answer, of: writes)
    }

    /// Checks the answer to a commit that nothing but its writes can refuse, and has the model do the same.
    mutating func accept(_ answer: DocumentResponse, of writes: [Write]) throws {
        switch answer {
        case .failed(let error):
            let never = Timestamp(seconds: 253_402_300_799, nanoseconds: 0)
            let refusals = model.current.applying(writes, at: never).refusals
            try expect(refusals.contains(error.code), "refused with \(error); the model has \(refusals) for \(writes)")
        case .committed(let result):
            let outcome = model.current.applying(writes, at: result.commitTime)
            try expect(outcome.refusals.isEmpty, "committed, but the model refuses: \(outcome.refusals)")
            if outcome.state == model.current {
                try expect(result.commitTime >= model.time, "a commit at \(result.commitTime) after \(model.time)")
            } else {
                try expect(result.commitTime > lastTime, "a commit at \(result.commitTime) after \(lastTime)")
                try expect(result.writeResults == outcome.results, "\(result.writeResults) not \(outcome.results)")
                try expect(
                    result.commitTime >= tested.clock.timestamp()
                        && result.commitTime.microseconds
                            < max(lastTime, tested.clock.timestamp()).microseconds + 1000,
                    "a commit at \(result.commitTime), and it is \(tested.clock.timestamp())")
                model.become(outcome.state, at: result.commitTime)
            }
            final = max(final, result.commitTime)
        default: throw unexpected(answer)
        }
    }

    private mutating func read(_ what: ModelRead.What, _ seen: Step.Seen) async throws {
        switch seen {
        case .newest:
            let answer = try await ask(what.request(.strong))
            let time = try check(answer, what, in: model.current)
            try expect(time >= model.time, "read at \(time), and the last commit was at \(model.time)")
        case .inside(let slot):
            if let transaction = slots[slot] { try await read(what, slot, transaction) }
        case .at(let moment):
            let time = time(moment)
            let answer = try await ask(what.request(.at(time)))
            guard try isKnown(time, answer) else { return }
            final = max(final, time)
            let own = try check(answer, what, in: model.state(at: time) ?? ModelState())
            try expect(own == time, "a read at \(time) says that it was at \(own)")
        }
    }

    /// Places are documents of the query, in the order of their names, and split it about evenly.
    private func partition(_ query: Query, _ points: Int) async throws {
        let answer = try await ask(.partition(query, points: points, .strong))
        guard case .partitioned(let places, _) = answer else { throw unexpected(answer) }
        let names = ModelQuery(query).run(in: model.current).map(\.path)
        let found = places.compactMap(names.firstIndex)
        try expect(
            found.count == places.count && places.count <= points && found == Array(Set(found)).sorted(),
            "\(query) is split at \(places); it has \(names)")
        let parts = zip([0] + found, found + [names.count]).map { $1 - $0 }
        try expect(
            (parts.max() ?? 0) <= 2 * (names.count / (places.count + 1) + 1),
            "\(query) is split into parts of \(parts)")
    }

    private func explain(_ query: Query) async throws {
        let answer = try await ask(.explain(query, [], analyze: true, .strong))
        guard case .explained(let explanation, let results, _, let time) = answer else { throw unexpected(answer) }
        try check(.results(results, readTime: time), .query(query), in: model.current)
        try expect(
            explanation.cost?.documentsReturned == results.count, "\(query) returned \(explanation.cost as Any)")
    }

    func time(_ moment: Step.Moment) -> Timestamp {
        switch moment {
        case .now(let plus): return Timestamp(microseconds: tested.clock.timestamp().microseconds + plus)
        case .commit(let back, let plus):
            let times = model.times
            return Timestamp(microseconds: times[max(times.count - 1 - back, 0)].microseconds + plus)
        }
    }

    /// Whether a read at a time was let through, which depends on how far the past and the future are away.
    func isKnown(_ time: Timestamp, _ answer: DocumentResponse) throws -> Bool {
        let now = tested.clock.timestamp()
        // Commits that changed nothing may have moved the store's time on, by microseconds.
        if time.microseconds > max(now, lastTime).microseconds + 1000 {
            try expect(answer.code == .invalidArgument, "a read in the future, at \(time): \(answer)")
            return false
        }
        if time > max(now, lastTime), answer.code == .invalidArgument { return false }
        guard answer.code == .failedPrecondition else { return true }
        try expect(isPast(time), "a read at \(time), when it is \(now), is refused")
        return false
    }

    /// - Returns: the time of the read.
    @discardableResult
    func check(_ answer: DocumentResponse, _ what: ModelRead.What, in state: ModelState) throws -> Timestamp {
        let expected = what.answer(in: state)
        guard let (found, time) = ModelRead.Answer.of(answer) else { throw unexpected(answer) }
        try expect(found.isSame(as: expected), "\(what)\nanswered \(found)\nnot      \(expected)")
        return time
    }

    /// Every document, by the collections and one by one.
    private func compareAll() async throws {
        for (id, isGroup) in [("c", true), ("d", true), ("c", false)] {
            let query = Query(collectionID: id, allDescendants: isGroup)
            try check(try await ask(.query(query, .strong)), .query(query), in: model.current)
        }
        let paths = Array(model.current.documents.keys)
        try check(try await ask(.get(paths, .strong)), .documents(paths), in: model.current)
    }

    func ask(_ request: DocumentRequest) async throws -> DocumentResponse {
        let store = tested.store
        return try await Patience.wait(for: "\(request)") {
            await request.perform(on: FunctionBackends(documents: store))
        }
    }

    func expect(_ holds: Bool, _ complaint: @autoclosure () -> String) throws(Disagreement) {
        if !holds { throw Disagreement(step: nil, description: complaint()) }
    }

    func unexpected(_ answer: DocumentResponse) -> Disagreement {
        Disagreement(step: nil, description: "answered \(answer)")
    }
}
