import DocumentModel
import DocumentStore
import StoreTestSupport
import TestSupport
import Testing

/// Transactions wait for documents on which others have lately conflicted.
@Suite(.endsHangs) struct HotDocumentTests {
    private let path: DocumentPath
    private let other: DocumentPath

    init() throws {
        path = try DocumentPath("hot/counter")
        other = try DocumentPath("cold/counter")
    }

    private func write(_ n: Int64, at path: DocumentPath? = nil) -> Write {
        Write(path: path ?? self.path, operation: .set(["n": .integer(n)]))
    }

    private func number(_ test: TestStore) async throws -> Int64 {
        guard case .integer(let n)? = try await test.get(path.string)?.fields["n"] else {
            throw DocumentError(.dataLoss, "no counter")
        }
        return n
    }

    /// Runs a body with a store in which transactions have conflicted on the counter.
    private func run(_ kind: EngineKind = .memory, _ body: (TestStore) async throws -> Void) async throws {
        var configuration = StoreConfiguration()
        // The clock may be far ahead before a transaction goes on.
        configuration.transactionIdle = .seconds(1_000_000_000)
        configuration.transactionLifetime = .seconds(1_000_000_000)
        try await withStore(kind, configuration: configuration) { test in
            try await test.commit([write(0), write(0, at: other)])
            let lost = try await test.begin()
            _ = try await test.get(path.string, in: lost)
            try await test.commit([write(-1)])
            #expect(await refusal { try await test.commit([write(9)], in: lost) }?.code == .aborted)
            try await test.commit([write(0)])
            try await body(test)
        }
    }

    /// Reads the counter in a transaction, and adds one.
    private func increment(_ test: TestStore, _ context: OperationContext = OperationContext()) async throws {
        let id = try await test.begin(context: context)
        // What is read before doesn't matter, since nothing is held then.
        _ = try await test.get(other.string, in: id, context: context)
        guard case .integer(let n)? = try await test.get(path.string, in: id, context: context)?.fields["n"] else {
            throw DocumentError(.dataLoss, "no counter")
        }
        try await test.commit([write(n + 1)], in: id, context: context)
    }

    /// Increments until it has done so: the document may be cold when it is read, and have a turn when it is written.
    private func insist(_ test: TestStore, _ context: OperationContext) async {
        while await refusal({ try await increment(test, context) })?.code == .aborted {}
    }

    @Test(arguments: EngineKind.allCases) func noneLosesItsFirstAttempt(kind: EngineKind) async throws {
        try await run(kind) { test in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<64 {
                    group.addTask { for _ in 0..<10 { try await increment(test) } }
                }
                try await group.waitForAll()
            }
            #expect(try await number(test) == 640)
        }
    }

    /// Nobody waits for ever: not for a holder that doesn't go on, nor for one that has left.
    @Test(arguments: ["expires", "leaves", "rolls back"]) func aTurnEnds(how: String) async throws {
        try await run { test in
            let holder = OperationContext(owner: 7)
            let id = try await test.begin(context: holder)
            _ = try await test.get(path.string, in: id, context: holder)
            let other = OperationContext(owner: 8)
            async let waiting: Void = {
                how == "expires" ? await insist(test, other) : try await increment(test, other)
            }()
            switch how {
            case "expires":
                // It may join the queue only after the first step of the clock.
                let pushing = Task {
                    while !Task.isCancelled {
                        test.clock.advance(by: .seconds(1))
                        await Task.yield()
                    }
                }
                defer { pushing.cancel() }
                try await waiting
            case "leaves":
                test.store.release(owner: 7)
                try await waiting
            default:
                _ = try await test.store.rollback(id, in: holder)
                try await waiting
            }
            #expect(try await number(test) == 1)
        }
    }

    @Test func aReadThatWaitsEndsWithItsOwner() async throws {
        try await run { test in
            let holder = OperationContext(owner: 7)
            let id = try await test.begin(context: holder)
            _ = try await test.get(path.string, in: id, context: holder)
            let other = OperationContext(owner: 8)
            let waiting = try await test.begin(context: other)
            async let read = refusal { _ = try await test.get(path.string, in: waiting, context: other) }
            test.store.release(owner: 8)
            #expect(await read != nil)
            try await test.commit([write(5)], in: id, context: holder)
            #expect(try await number(test) == 5)
        }
    }

    /// Each waits for one document at most while it holds nothing: two that read in opposite orders both end.
    @Test func oppositeOrdersDoNotBlock() async throws {
        try await run { test in
            // The second document is hot, too.
            let lost = try await test.begin()
            _ = try await test.get(other.string, in: lost)
            try await test.commit([write(-1, at: other)])
            #expect(await refusal { try await test.commit([write(9, at: other)], in: lost) }?.code == .aborted)
            let (first, second) = (try await test.begin(), try await test.begin())
            _ = try await test.get(path.string, in: first)
            _ = try await test.get(other.string, in: second)
            _ = try await test.get(other.string, in: first)
            _ = try await test.get(path.string, in: second)
            let refusals = [
                await refusal { try await test.commit([write(1), write(1, at: other)], in: first) },
                await refusal { try await test.commit([write(2), write(2, at: other)], in: second) },
            ]
            for refusal in refusals { #expect(refusal == nil || refusal?.code == .aborted) }
        }
    }

    /// A document is hot for some time only.
    @Test func aDocumentGetsCold() async throws {
        try await run { test in
            test.clock.advance(by: .seconds(3))
            let first = try await test.begin()
            _ = try await test.get(path.string, in: first)
            let second = try await test.begin()
            _ = try await test.get(path.string, in: second)
            try await test.commit([write(1)], in: second)
            #expect(await refusal { try await test.commit([write(2)], in: first) }?.code == .aborted)
        }
    }
}
