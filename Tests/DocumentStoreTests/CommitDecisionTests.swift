import CommitPipeline
import DocumentModel
@testable import DocumentStore
import Foundation
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// How long decisions on clients' commits hold, and who decides then.
@Suite(.endsHangs) struct CommitDecisionTests {
    /// Tells the writer's thread.
    private struct ThreadJob: CommitJob {
        let done: @Sendable (ObjectIdentifier) -> Void

        func run(in batch: CommitBatch) { done(ObjectIdentifier(Thread.current)) }
        func fail(_ error: DocumentError) {}
    }

    private static func writer(of test: TestStore) async -> ObjectIdentifier {
        await withCheckedContinuation { continuation in
            _ = test.store.pipeline.submit(ThreadJob { continuation.resume(returning: $0) })
        }
    }

    /// Allows writes while the document `c/flag` has `open`, and remembers which threads it was asked on.
    private final class FlagPolicy: AccessPolicy {
        struct Asked {
            var access: Access
            var thread: ObjectIdentifier
            var time: Timestamp
        }

        let asked = Mutex<[Asked]>([])
        private let cost: Int
        /// Called before each decision, with how many there were.
        private let before: @Sendable (Int) -> Void

        init(cost: Int = 0, before: @escaping @Sendable (Int) -> Void = { _ in }) {
            self.cost = cost
            self.before = before
        }

        func check(_ access: Access, in view: AccessView) throws {
            let isOpen = try view.document(DocumentPath("c/flag"))?.fields["open"] == .boolean(true)
            let number = asked.withLock { asked in
                asked.append(Asked(access: access, thread: ObjectIdentifier(Thread.current), time: view.time))
                return asked.count
            }
            before(number)
            try view.spend(cost)
            guard isOpen else { throw DocumentError(.permissionDenied, "the flag is down") }
        }

        /// For each time it was asked, whether that was on a thread.
        func wasAsked(on thread: ObjectIdentifier) -> [Bool] { asked.withLock { $0.map { $0.thread == thread } } }
    }

    private func set(_ path: String, _ fields: [String: Value] = [:]) throws -> Write {
        Write(path: try DocumentPath(path), operation: .set(fields))
    }

    /// Commits as an admin while a reader decides.
    private func commitNow(_ write: Write, to test: TestStore) {
        let done = DispatchSemaphore(value: 0)
        test.store.commit([write], transaction: nil, completing: nil, effects: [], in: OperationContext()) { _ in
            done.signal()
        }
        done.wait()
    }

    @Test func noPolicyIsAskedOnTheWritersThread() async throws {
        try await withStore { test in
            try await test.set("c/flag", ["open": .boolean(true)])
            let policy = FlagPolicy()
            let client = OperationContext(owner: 7, policy: policy)
            let timestamp = FieldTransform(FieldPath(segments: ["at"]), .serverTimestamp)
            var write = try set("c/a")
            write.transforms = [timestamp]
            let result = try await test.commit([write, try set("c/b")], context: client)
            for result in try await test.store.batchWrite([try set("c/d"), try set("c/e")], in: client) {
                _ = try result.get()
            }
            let transaction = try await test.begin(context: client)
            _ = try await test.get("c/a", in: transaction, context: client)
            try await test.commit([try set("c/f")], in: transaction, context: client)
            #expect(policy.wasAsked(on: await Self.writer(of: test)) == Array(repeating: false, count: 6))
            // The server's time is that of the request in the rules, the commit's is its own.
            let document = try #require(try await test.get("c/a"))
            #expect(document.updateTime == result.commitTime && document.createTime == result.commitTime)
            #expect(result.writeResults.map(\.updateTime) == [result.commitTime, result.commitTime])
            let time = try #require(policy.asked.withLock { $0.first?.time })
            #expect(document.fields["at"] == .timestamp(time))
            #expect(result.writeResults.first?.transformResults == [.timestamp(time)])
            #expect(time <= result.commitTime)
        }
    }

    @Test func aDecisionThatHasBecomeWrongIsMadeAgain() async throws {
        try await withStore { test in
            try await test.set("c/flag", ["open": .boolean(true)])
            let shut = try set("c/flag", ["open": .boolean(false)])
            let policy = FlagPolicy { if $0 == 1 { commitNow(shut, to: test) } }
            let client = OperationContext(owner: 7, policy: policy)
            let error = await refusal { try await test.commit([try set("c/a")], context: client) }
            #expect(error == DocumentError(.permissionDenied, "the flag is down"))
            #expect(policy.wasAsked(on: await Self.writer(of: test)) == [false, true])
            #expect(try await test.get("c/a") == nil)
        }
    }

    /// The written document belongs to what is decided on, also where the policy doesn't look at it.
    @Test(arguments: [100, 300_000]) func theWrittenDocumentsAreDecidedOn(bytes: Int) async throws {
        try await withStore { test in
            try await test.set("c/flag", ["open": .boolean(true)])
            try await test.set("c/a", ["n": .integer(1), "text": .string(String(repeating: "x", count: bytes))])
            let change = Write(
                path: try DocumentPath("c/a"),
                operation: .update(["other": .integer(5)], mask: [FieldPath(segments: ["other"])]))
            for isChanged in [false, true] {
                let policy = FlagPolicy { if $0 == 1, isChanged { commitNow(change, to: test) } }
                let increment = Write(
                    path: try DocumentPath("c/a"), operation: .update([:], mask: []),
                    transforms: [FieldTransform(FieldPath(segments: ["n"]), .increment(.integer(1)))])
                let client = OperationContext(owner: 7, policy: policy)
                let result = try await test.commit([increment], context: client)
                #expect(policy.wasAsked(on: await Self.writer(of: test)).contains(true) == isChanged)
                let document = try #require(try await test.get("c/a"))
                #expect(document.fields["n"] == .integer(isChanged ? 3 : 2))
                #expect(document.fields["other"] == (isChanged ? .integer(5) : nil))
                #expect(document.updateTime == result.commitTime)
                #expect(result.writeResults.map(\.transformResults) == [[.integer(isChanged ? 3 : 2)]])
            }
        }
    }

    /// Nulls are stored as a byte each. What would take too much memory while it waits, the writer computes again.
    @Test(arguments: [true, false]) func whatWaitsForTheWriterCountsByItsMemory(isReadAgain: Bool) async throws {
        let memory = 10_000 * MemoryLayout<Value>.stride
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        var configuration = TestStore.configuration
        configuration.maxHeldBytes = isReadAgain ? memory / 2 : memory * 2
        try await withStore(engine: engine, configuration: configuration) { test in
            try await test.set("c/flag", ["open": .boolean(true)])
            try await test.set("c/a", ["a": .array(Array(repeating: .null, count: 10_000))])
            _ = engine.takeLargestWriteBytes()
            let change = Write(
                path: try DocumentPath("c/a"),
                operation: .update(["other": .integer(5)], mask: [FieldPath(segments: ["other"])]))
            try await test.commit([change], context: OperationContext(owner: 7, policy: FlagPolicy()))
            let bytes = engine.takeLargestWriteBytes()
            #expect((bytes >= 10_000) == isReadAgain)
        }
    }

    @Test func whatIsCostlyToDecideNeverKeepsTheWriter() async throws {
        try await withStore { test in
            let open = try set("c/flag", ["open": .boolean(true)])
            try await test.commit([open])
            let writer = await Self.writer(of: test)
            // A decision that is made five times, each time on what the one before didn't see.
            for conflicts in [1, 20] {
                let policy = FlagPolicy(cost: 1_000_000) { number in
                    guard ObjectIdentifier(Thread.current) != writer, number < 2 * conflicts else { return }
                    let fields: [String: Value] = ["open": .boolean(true), "n": .integer(.random(in: 0 ... .max))]
                    commitNow(Write(path: open.path, operation: .set(fields)), to: test)
                }
                let client = OperationContext(owner: 7, policy: policy)
                let error = await refusal { try await test.commit([try set("c/a")], context: client) }
                #expect(error?.code == (conflicts == 1 ? nil : .aborted))
                #expect(policy.wasAsked(on: writer).count { !$0 } == (conflicts == 1 ? 2 : 5))
                #expect(try await test.get("c/a") != nil)
            }
        }
    }

    /// Reads much before it asks another.
    private struct ReadingPolicy: AccessPolicy {
        let next: FlagPolicy

        func check(_ access: Access, in view: AccessView) throws {
            for number in 0..<9 { _ = try view.document(DocumentPath("large/\(number)")) }
            try next.check(access, in: view)
        }
    }

    @Test func whatReadsTooMuchForTheWriterIsDecidedByAReaderAgain() async throws {
        try await withStore { test in
            let text = Value.string(String(repeating: "x", count: 1_000_000))
            for number in 0..<9 { try await test.set("large/\(number)", ["s": text]) }
            let open = try set("c/flag", ["open": .boolean(true)])
            try await test.commit([open])
            let flag = FlagPolicy { number in
                guard number == 1 else { return }
                let fields: [String: Value] = ["open": .boolean(true), "n": .integer(1)]
                commitNow(Write(path: open.path, operation: .set(fields)), to: test)
            }
            let client = OperationContext(owner: 7, policy: ReadingPolicy(next: flag))
            try await test.commit([try set("c/a")], context: client)
            #expect(flag.wasAsked(on: await Self.writer(of: test)) == [false, false])
            #expect(try await test.get("c/a") != nil)
        }
    }

    /// A second later, what was decided by the time may not hold any more.
    @Test func aDecisionHoldsForASecond() async throws {
        try await withStore { test in
            try await test.set("c/flag", ["open": .boolean(true)])
            for (pause, isAsked) in [(Duration.milliseconds(500), false), (.seconds(2), true)] {
                let policy = FlagPolicy { if $0 == 1 { test.clock.advance(by: pause) } }
                let client = OperationContext(owner: 7, policy: policy)
                try await test.commit([try set("c/a")], context: client)
                #expect(policy.wasAsked(on: await Self.writer(of: test)).contains(true) == isAsked)
            }
        }
    }

    /// Writes that are too costly for the writer are decided again once those before them are durable.
    @Test func costlyWritesOfABatchAreDecidedByReadersAlone() async throws {
        try await withStore { test in
            try await test.set("c/flag", ["open": .boolean(true)])
            let policy = FlagPolicy(cost: 1_000_000)
            let client = OperationContext(owner: 7, policy: policy)
            let writes = [
                try set("c/flag", ["open": .boolean(true), "n": .integer(1)]), try set("c/a"), try set("c/b"),
            ]
            let results = try await test.store.batchWrite(writes, in: client)
            #expect(results.map { (try? $0.get()) != nil } == [true, true, true], "\(results)")
            #expect(try await test.get("c/b") != nil)
        }
    }

    /// What a write of a batch was decided on is seen by the writer alone, once it knows which writes are applied.
    @Test func aWriteThatDependsOnOneBeforeIsDecidedWithIt() async throws {
        try await withStore { test in
            let policy = FlagPolicy()
            let client = OperationContext(owner: 7, policy: policy)
            let writes = [try set("c/flag", ["open": .boolean(true)]), try set("c/a")]
            // The first is refused, as there is no flag before it.
            for result in try await test.store.batchWrite(writes, in: client) {
                #expect(throws: DocumentError(.permissionDenied, "the flag is down")) { try result.get() }
            }
            try await test.commit([writes[0]])
            let shut = [try set("c/flag", ["open": .boolean(false)]), try set("c/a")]
            let results = try await test.store.batchWrite(shut, in: client)
            #expect(results.map { (try? $0.get()) != nil } == [true, false])
        }
    }
}
