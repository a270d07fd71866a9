@testable import CommitPipeline
import Dispatch
import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Whom the reads of clients hold up, and for how long.
@Suite(.endsHangs) struct CallerReadsTests {
    private static let caller = 7 as UInt64

    /// Allows everything; a client's queries wait at a gate, or the documents that it creates.
    private struct Gated: AccessPolicy {
        let gate: Gate
        var holdsCommits = false

        func check(_ access: Access, in view: AccessView) {
            switch access {
            case .list: if !holdsCommits { gate.pass() }
            case .create: if holdsCommits { gate.pass() }
            default: break
            }
        }
    }

    private final class Gate: Sendable {
        private let counts = Mutex((waiting: 0, passed: 0))
        private let semaphore = DispatchSemaphore(value: 0)

        var waiting: Int { counts.withLock { $0.waiting } }
        var passed: Int { counts.withLock { $0.passed } }

        func open() { semaphore.signal() }

        func pass() {
            counts.withLock { $0.waiting += 1 }
            semaphore.wait()
            semaphore.signal()
            counts.withLock { counts in
                counts.waiting -= 1
                counts.passed += 1
            }
        }
    }

    private func client(
        _ owner: UInt64, _ gate: Gate, _ cancellation: OperationCancellation? = nil
    ) -> OperationContext {
        OperationContext(owner: owner, policy: Gated(gate: gate), cancellation: cancellation)
    }

    /// Starts queries.
    private func start(
        _ count: Int, _ test: TestStore, in context: OperationContext
    ) -> AsyncStream<Result<QueryAnswer, DocumentError>> {
        let (answers, answered) = AsyncStream<Result<QueryAnswer, DocumentError>>.makeStream()
        for _ in 0..<count {
            test.store.query(Query(collectionID: "c"), .strong, in: context) { answered.yield($0) }
        }
        return answers
    }

    @Test func functionsAndGetsNeverWaitForClientsQueries() async throws {
        try await withStore { test in
            try await test.set("c/a", [:])
            let gate = Gate()
            defer { gate.open() }
            for owner in 1...8 as ClosedRange<UInt64> { _ = start(10, test, in: client(owner, gate)) }
            while gate.waiting < CommitConfiguration().callerReaderThreads { await Task.yield() }
            #expect(try await test.get("c/a") != nil)
            #expect(try await test.query(Query(collectionID: "c")).count == 1)
            #expect(try await test.get("c/a", context: client(9, gate)) != nil)
            try await test.set("c/b", [:])
            #expect(gate.passed == 0)
        }
    }

    @Test func aClientWithManyQueriesLeavesThreadsForOthers() async throws {
        try await withStore { test in
            try await test.set("c/a", [:])
            let (gate, open) = (Gate(), Gate())
            open.open()
            defer { gate.open() }
            let first = start(50, test, in: client(1, gate))
            while gate.waiting < CommitConfiguration().callerReaderThreads / 2 { await Task.yield() }
            for owner in 2...5 as ClosedRange<UInt64> {
                var others = start(3, test, in: client(owner, open)).makeAsyncIterator()
                for _ in 0..<3 { #expect(try await others.next()?.get().documents.count == 1) }
            }
            #expect(gate.waiting == CommitConfiguration().callerReaderThreads / 2)
            gate.open()
            var all = first.makeAsyncIterator()
            for _ in 0..<50 { #expect(try await all.next()?.get().documents.count == 1) }
        }
    }

    private func sets(_ count: Int, in collection: String) throws -> [Write] {
        try (0..<count).map { Write(path: try DocumentPath("\(collection)/d\($0)"), operation: .set([:])) }
    }

    private func maintain(_ test: TestStore) async throws {
        #expect(try await test.store.collectionIDs(below: nil).contains("c"))
        #expect(try await test.store.outbox.counts().isEmpty)
    }

    @Test func commitsAndMaintenanceDontWaitForQueries() async throws {
        try await withStore { test in
            try await test.set("c/a", [:])
            let gate = Gate()
            defer { gate.open() }
            for owner in 1...8 as ClosedRange<UInt64> { _ = start(10, test, in: client(owner, gate)) }
            while gate.waiting < CommitConfiguration().callerReaderThreads { await Task.yield() }
            try await test.commit(try sets(50, in: "d"), context: client(9, gate))
            // Its own neither.
            try await test.commit(try sets(50, in: "e"), context: client(1, gate))
            try await maintain(test)
            #expect(gate.passed == 0)
        }
    }

    @Test func queriesAndMaintenanceDontWaitForChecksOfCommits() async throws {
        try await withStore { test in
            try await test.set("c/a", [:])
            let gate = Gate()
            defer { gate.open() }
            func committer(_ owner: UInt64) -> OperationContext {
                OperationContext(owner: owner, policy: Gated(gate: gate, holdsCommits: true))
            }
            for owner in 1...4 as ClosedRange<UInt64> {
                for n in 0..<5 { test.store.submit(try sets(50, in: "x\(owner)\(n)"), in: committer(owner)) }
            }
            while gate.waiting < CommitConfiguration().commitCheckThreads { await Task.yield() }
            #expect(try await test.query(Query(collectionID: "c"), context: committer(1)).count == 1)
            try await maintain(test)
            try await test.set("c/b", [:])
            #expect(gate.passed == 0)
        }
    }

    @Test func whatItsCallerNoLongerWaitsForIsNotBegun() async throws {
        try await withStore { test in
            let gate = Gate()
            let cancellation = OperationCancellation()
            let answers = start(10, test, in: client(1, gate, cancellation))
            let running = CommitConfiguration().callerReaderThreads / 2
            while gate.waiting < running { await Task.yield() }
            cancellation.cancel()
            gate.open()
            var all = answers.makeAsyncIterator()
            var refused = 0
            for _ in 0..<10 { if await all.next() == .failure(.callerLeft) { refused += 1 } }
            #expect(gate.passed == running)
            #expect(refused == 10 - running)
            // A function's too.
            let left = OperationContext(owner: 2, cancellation: cancellation)
            await #expect(throws: DocumentError.callerLeft) {
                try await test.store.query(Query(collectionID: "c"), .strong, in: left)
            }
        }
    }

    @Test func aCallersWaitingReadsAreBounded() async throws {
        var commits = CommitConfiguration()
        commits.maxCallerReads = 20
        try await withStore(commits: commits) { test in
            let gate = Gate()
            let running = CommitConfiguration().callerReaderThreads / 2
            _ = start(running, test, in: client(1, gate))
            while gate.waiting < running { await Task.yield() }
            var all = start(100, test, in: client(1, gate)).makeAsyncIterator()
            let other = start(1, test, in: client(2, gate))
            // One caller gets half of the places.
            for _ in 0..<90 {
                guard case .failure(let error)? = await all.next() else { throw DocumentError(.unknown, "an answer") }
                #expect(error.code == .unavailable || error.code == .resourceExhausted)
            }
            gate.open()
            for _ in 0..<10 { #expect(try await all.next()?.get().documents.isEmpty == true) }
            var last = other.makeAsyncIterator()
            #expect(try await last.next()?.get() != nil)
        }
    }

    @Test func readsEndWithTheStore() async throws {
        let test = try TestStore()
        let gate = Gate()
        let answers = start(20, test, in: client(1, gate))
        gate.open()
        await test.store.shutdown()
        var all = answers.makeAsyncIterator()
        for _ in 0..<20 { #expect(try await all.next()?.get() != nil) }
        var late = start(1, test, in: client(1, gate)).makeAsyncIterator()
        guard case .failure? = await late.next() else {
            Issue.record("it was read")
            return
        }
    }
}
