import DocumentModel
import Foundation
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// Checks of writes, as rules make them.
struct CheckTests {
    private static let denied = RealtimeFailure(.denied, "Permission denied")

    private func write(_ path: String, _ json: String, ifHash hash: String? = nil) throws -> RealtimeWrite {
        let target = try RealtimeTarget(path)
        return .set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target), ifHash: hash)
    }

    @Test func aRefusedWriteLeavesNoTrace() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("a", "1")
        let write = try write("a", "2")
        await #expect(throws: Self.denied) {
            try await fixture.commit(write) { _, _, _, _ in throw Self.denied }
        }
        #expect(try await fixture.json() == #"{"a":1}"#)
        try await fixture.close()
    }

    @Test func aCheckSeesTheWholeUpdateWithItsTimestamps() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("", #"{"stars":1,"old":true}"#)
        let json = #"{"stars":{".sv":{"increment":2}},"old":null,"a/at":{".sv":"timestamp"}}"#
        let update = RealtimeWrite.update(try RealtimeUpdate(parsing: Array(json.utf8), at: .root))
        let seen = SharedList<RealtimeNode?>()
        try await fixture.commit(update) { before, after, now, _ in
            #expect(try before.childKeys(at: .root).map(\.string) == ["old", "stars"])
            #expect(try after.childKeys(at: .root).map(\.string) == ["a", "stars"])
            #expect(try after.leaf(at: RealtimePath("stars")) == 3)
            #expect(try after.leaf(at: RealtimePath("a/at")) == .number(RealtimeNumber(now)))
            seen.append(try after.node(at: .root))
        }
        let committed = try await fixture.read { try $0.node(at: .root) }
        #expect(seen.all == [committed])
        try await fixture.close()
    }

    /// A client that may not write learns nothing of what exists.
    @Test func theCheckIsMadeBeforeHashesAreCompared() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("a", "1")
        let wrong = try write("a", "2", ifHash: "wrong")
        await #expect(throws: Self.denied) { try await fixture.commit(wrong) { _, _, _, _ in throw Self.denied } }
        await #expect(throws: RealtimeFailure.stale) { try await fixture.commit(wrong) { _, _, _, _ in } }
        try await fixture.close()
    }

    /// What is known of a small node is enough to decide on a condition: no reader looks for it.
    @Test func aKnownNodeIsNotReadForACondition() async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        let fixture = try RealtimeFixture(on: engine)
        try await fixture.set("a", "1")
        let path = try RealtimePath("a")
        while try await fixture.known(at: path) == nil {}
        let (wrong, right) = (try write("a", "2", ifHash: "wrong"), RealtimeNode(1).hash)
        _ = engine.takeCounts()
        await #expect(throws: RealtimeFailure.stale) { try await fixture.commit(wrong) }
        #expect(engine.takeCounts().read == 0)
        // The writer makes a quick check, also of rules that have come meanwhile. It comes first.
        var checked = RealtimeCommit([wrong], in: RealtimeFixture.namespace) { _, _, _, _ in throw Self.denied }
        checked.isCheckQuick = true
        await #expect(throws: Self.denied) { try await fixture.store.commit(checked) }
        checked.writes = [try write("a", "2", ifHash: right)]
        await #expect(throws: Self.denied) { try await fixture.store.commit(checked) }
        checked.check = { before, _, _, _ in
            let leaf = try before.leaf(at: RealtimePath("a"))
            #expect(leaf == 1)
        }
        try await fixture.store.commit(checked)
        #expect(try await fixture.json() == #"{"a":2}"#)
        try await fixture.close()
    }

    /// Both are decided on by what is known before either is committed.
    @Test(.endsHangs, arguments: [false, true]) func ofTwoConditionsOnAKnownNodeOneHolds(isChecked: Bool) async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("a", "1")
        while try await fixture.known(at: RealtimePath("a")) == nil {}
        let gate = DispatchSemaphore(value: 0)
        var held = RealtimeCommit([try write("b", "1")], in: RealtimeFixture.namespace) { _, _, _, _ in gate.wait() }
        held.isCheckQuick = true
        fixture.store.commit(held) { _ in }
        let results = SharedList<Bool>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for value in ["2", "3"] {
                var commit = RealtimeCommit(
                    [try write("a", value, ifHash: RealtimeNode(1).hash)], in: RealtimeFixture.namespace)
                if isChecked { (commit.check, commit.isCheckQuick) = ({ _, _, _, _ in }, true) }
                group.addTask { [commit] in
                    await withCheckedContinuation { continuation in
                        fixture.store.commit(commit) { result in
                            if case .success = result { results.append(true) } else { results.append(false) }
                            continuation.resume()
                        }
                        gate.signal()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(results.all.sorted { $0 && !$1 } == [true, false])
        try await fixture.close()
    }

    /// What was read is changed after the first decision, and before the commit.
    @Test(
        .endsHangs,
        arguments: [
            ("role", true), ("role/name", true), ("other", false), ("list/b", true), ("list/a/x", false),
            ("members/x", false),
        ])
    func aDecisionIsMadeAgainOnlyIfWhatItReadHasChanged(changed: String, isRepeated: Bool) async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("", #"{"role":"admin","list":{"a":{"x":1}},"members":{"ada":true,"x":1}}"#)
        let decisions = SharedList<Int>()
        try await fixture.commit(try write("result", "1")) { before, after, _, _ in
            _ = try before.leaf(at: RealtimePath("role"))
            _ = try before.childKeys(at: RealtimePath("list"))
            _ = try before.exists(at: RealtimePath("members"))
            #expect(try after.leaf(at: RealtimePath("result")) == 1)
            decisions.append(1)
            if decisions.all.count == 1 { fixture.setBlocking(changed, RealtimeNode(7)) }
        }
        #expect(decisions.all.count == (isRepeated ? 2 : 1))
        try await fixture.close()
    }

    /// The rules that have decided may not hold any more.
    @Test(.endsHangs, arguments: [false, true]) func aDecisionOfAnEarlierGenerationIsMadeAgain(changes: Bool)
        async throws
    {
        let fixture = try RealtimeFixture()
        let decisions = SharedList<Int>()
        var commit = RealtimeCommit([try write("a", "1")], in: RealtimeFixture.namespace) { _, _, _, _ in
            decisions.append(1)
            if changes, decisions.all.count > 1 { throw Self.denied }
        }
        commit.checkGeneration = { changes ? UInt64(decisions.all.count) : 0 }
        let result = try? await fixture.store.commit(commit)
        #expect((result == nil) == changes)
        #expect(decisions.all.count == (changes ? 2 : 1))
        try await fixture.close()
    }

    /// Rules may come after all. An early decision would be made again, since the generation is another each time.
    @Test(.endsHangs, arguments: [false, true]) func aQuickCheckIsMadeByTheWriterOnly(refuses: Bool) async throws {
        let fixture = try RealtimeFixture()
        let decisions = SharedList<Int>()
        let generations = SharedList<Int>()
        var commit = RealtimeCommit([try write("a", "1")], in: RealtimeFixture.namespace) { _, _, _, _ in
            decisions.append(1)
            if refuses { throw Self.denied }
        }
        commit.checkGeneration = {
            generations.append(1)
            return UInt64(generations.all.count)
        }
        commit.isCheckQuick = true
        let result = try? await fixture.store.commit(commit)
        #expect((result == nil) == refuses)
        #expect(decisions.all.count == 1)
        try await fixture.close()
    }

    /// The changes of a commit reach listeners before its answer, unless the caller has none.
    @Test(.endsHangs, arguments: [false, true]) func aCallerWithoutListenersIsAnsweredByTheWriter(listens: Bool)
        async throws
    {
        let fixture = try RealtimeFixture()
        let order = SharedList<String>()
        let gate = DispatchSemaphore(value: 0)
        fixture.store.commit(RealtimeCommit([try write("b", "1")], in: RealtimeFixture.namespace)) { _ in
            gate.wait()
            order.append("listeners")
        }
        if listens { gate.signal() }
        var commit = RealtimeCommit([try write("a", "1")], in: RealtimeFixture.namespace)
        commit.isAnsweredAtOnce = { !listens }
        await withCheckedContinuation { continuation in
            fixture.store.commit(commit) { _ in
                order.append("answer")
                continuation.resume()
            }
        }
        if !listens { gate.signal() }
        _ = try await fixture.json()
        #expect(order.all == (listens ? ["listeners", "answer"] : ["answer", "listeners"]))
        try await fixture.close()
    }

    /// A decision on a state that has changed isn't the last word.
    @Test(.endsHangs) func aRefusalIsMadeAgainIfWhatItReadHasChanged() async throws {
        let fixture = try RealtimeFixture()
        let decisions = SharedList<Bool>()
        try await fixture.commit(try write("rooms/a/text", #""hello""#)) { before, _, _, _ in
            let isMember = try before.exists(at: RealtimePath("members/ada"))
            decisions.append(isMember)
            if decisions.all.count == 1 { fixture.setBlocking("members/ada", RealtimeNode(true)) }
            guard isMember else { throw Self.denied }
        }
        #expect(decisions.all == [false, true])
        try await fixture.close()
    }

    /// The writer hashes little again: what is large and may have changed counts as changed.
    @Test(.endsHangs, arguments: [(10, true), (10_000, false)])
    func theWriterHashesLittleAgain(children: Int, isWritten: Bool) async throws {
        let fixture = try RealtimeFixture()
        let text = String(repeating: "t", count: 100)
        try await fixture.set(
            "list", "{" + (0..<children).map { "\"k\($0)\":\"\(text)\"" }.joined(separator: ",") + "}")
        let list = try RealtimeTarget("list")
        let hash = try await fixture.read { try $0.hash(at: list) }
        let decisions = SharedList<Int>()
        // Both times the same value is set, so that the hash is the same again.
        let write = RealtimeWrite.set(list, RealtimeWriteValue(RealtimeNode(true)), ifHash: hash)
        let old = RealtimeNode(.string(text))
        do {
            let check: RealtimeCheck = { _, _, _, _ in
                decisions.append(1)
                guard decisions.all.count == 1 else { return }
                fixture.setBlocking("list/k1", RealtimeNode(true))
                fixture.setBlocking("list/k1", old)
            }
            // Its decision is a long one at once.
            try await fixture.store.commit(RealtimeCommit([write], in: RealtimeFixture.namespace, check: check))
            #expect(isWritten)
        } catch {
            #expect(error == .stale)
            #expect(!isWritten)
        }
        try await fixture.close()
    }

    /// A client doesn't wait for the answer to what its next write needs.
    @Test(.endsHangs) func writesOfASequenceSeeThoseBefore() async throws {
        let fixture = try RealtimeFixture()
        for round in 0..<20 {
            let sequence = RealtimeWriteSequence()
            let answers = SharedList<Int>()
            await withCheckedContinuation { continuation in
                for number in 0..<5 {
                    let target = RealtimeTarget(
                        RealtimePath(unchecked: [RealtimeKey(index: round), RealtimeKey(index: number)]))
                    let previous = RealtimePath(unchecked: [RealtimeKey(index: round), RealtimeKey(index: number - 1)])
                    let commit = RealtimeCommit(
                        [.set(target, RealtimeWriteValue(RealtimeNode(true)))], in: RealtimeFixture.namespace
                    ) { before, _, _, _ in
                        guard try number == 0 || before.exists(at: previous) else { throw Self.denied }
                    }
                    fixture.store.commit(commit, sequence: sequence) { result in
                        if case .success = result { answers.append(number) }
                        if number == 4 { continuation.resume() }
                    }
                }
            }
            #expect(answers.all == [0, 1, 2, 3, 4])
        }
        try await fixture.close()
    }

    /// Reads a role that changes the first times, and costs the writer too much.
    private func costlyCheck(
        _ fixture: RealtimeFixture, changes: Int, _ decisions: SharedList<Bool>
    ) -> RealtimeCheck {
        { before, _, _, maxCost in
            decisions.append(maxCost == nil)
            _ = try before.leaf(at: RealtimePath("role"))
            guard maxCost == nil else { throw DecisionTooCostly() }
            let count = decisions.all.count { $0 }
            if count <= changes { fixture.setBlocking("role", RealtimeNode(.number(RealtimeNumber(Int64(count))))) }
        }
    }

    /// Others would wait for a long decision of the writer's.
    @Test(.endsHangs) func readersMakeACostlyDecisionAgain() async throws {
        let fixture = try RealtimeFixture()
        let decisions = SharedList<Bool>()
        try await fixture.commit(try write("a", "1"), check: costlyCheck(fixture, changes: 2, decisions))
        #expect(decisions.all == [true, false, true, false, true])
        #expect(try await fixture.json("a") == "1")
        try await fixture.close()
    }

    /// It is known from the readers.
    @Test(.endsHangs, arguments: [(20_000, true), (20_001, false)])
    func theWriterDoesNotBeginADecisionThatCostsTooMuch(cost: Int, begins: Bool) async throws {
        let fixture = try RealtimeFixture()
        let decisions = SharedList<Bool>()
        var commit = RealtimeCommit(
            [try write("a", "1")], in: RealtimeFixture.namespace, check: costlyCheck(fixture, changes: 2, decisions))
        commit.checkCost = { cost }
        try await fixture.store.commit(commit)
        #expect(decisions.all == (begins ? [true, false, true, false, true] : [true, true, true]))
        #expect(try await fixture.json("a") == "1")
        try await fixture.close()
    }

    @Test(.endsHangs, arguments: [2, Int.max])
    func writesOfASequenceKeepTheirOrderWhileOneIsDecidedAgain(changes: Int) async throws {
        let fixture = try RealtimeFixture()
        let (decisions, answers) = (SharedList<Bool>(), SharedList<String>())
        let sequence = RealtimeWriteSequence()
        let check = costlyCheck(fixture, changes: changes, decisions)
        let first = RealtimeCommit([try write("a", "1")], in: RealtimeFixture.namespace, check: check)
        let others = try ["2", "3"].map {
            RealtimeCommit([try write("a", $0)], in: RealtimeFixture.namespace) { _, _, _, _ in }
        }
        await withCheckedContinuation { continuation in
            fixture.store.commit(first, sequence: sequence) { result in
                switch result {
                case .success: answers.append("1")
                case .failure(let failure): answers.append("\(failure.code)")
                }
            }
            for (number, commit) in others.enumerated() {
                fixture.store.commit(commit, sequence: sequence) { _ in
                    answers.append("\(number + 2)")
                    if number == 1 { continuation.resume() }
                }
            }
        }
        #expect(answers.all == [changes == 2 ? "1" : "unavailable", "2", "3"])
        #expect(decisions.all.count { $0 } == (changes == 2 ? 3 : 6))
        #expect(try await fixture.json("a") == "3")
        try await fixture.close()
    }

    /// What a client has sent before its end happens before what it has registered for that.
    @Test(.endsHangs) func registrationsWaitForAWriteThatIsDecidedAgain() async throws {
        let fixture = try RealtimeFixture()
        let (decisions, sequence) = (SharedList<Bool>(), RealtimeWriteSequence())
        let target = try RealtimeTarget("online")
        try await withCheckedThrowingContinuation { continuation in
            fixture.store.register(
                RealtimeDisconnect(.set, target, value: Array("false".utf8), principal: []), of: "s1",
                in: RealtimeFixture.namespace
            ) { continuation.resume(with: $0) }
        }
        let commit = RealtimeCommit(
            [try write("online", "true")], in: RealtimeFixture.namespace,
            check: costlyCheck(fixture, changes: 2, decisions))
        let failures: [RealtimeFailure?] = try await withCheckedThrowingContinuation { continuation in
            fixture.store.commit(commit, sequence: sequence) { _ in }
            fixture.store.runDisconnects(
                of: "s1", in: RealtimeFixture.namespace, sequence: sequence, check: { _ in nil }
            ) { continuation.resume(with: $0) }
        }
        #expect(failures == [nil])
        #expect(try await fixture.json("online") == "false")
        try await fixture.close()
    }

    @Test(.endsHangs, arguments: EngineKind.allCases)
    func aHotPathMakesProgressUnderChecks(kind: EngineKind) async throws {
        let fixture = try RealtimeFixture(kind)
        let decisions = SharedList<Int>()
        let write = try write("counter", #"{".sv":{"increment":1}}"#)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<10 {
                        try await fixture.commit(write) { before, after, _, _ in
                            decisions.append(1)
                            let path = try RealtimePath("counter")
                            guard case .number(let new)? = try after.leaf(at: path) else { throw Self.denied }
                            guard case .number(let old) = try before.leaf(at: path) ?? 0, old + 1 == new else {
                                throw Self.denied
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.json("counter") == "160")
        // Never more than once on a reader's thread and once on the writer's.
        #expect(decisions.all.count <= 320)
        try await fixture.close()
    }
}
