import DocumentModel
import DocumentStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// Work under idempotency keys outside of transactions, as the store keeps it.
@Suite(.endsHangs) struct ClaimTests {
    private func call(_ owner: UInt64, key: String = "k", data: UInt8 = 1) -> OperationContext {
        OperationContext(owner: owner, completion: CompletionKey(scope: "f/ada", key: key, fingerprint: [data]))
    }

    @Test(arguments: EngineKind.allCases) func anAnsweredCallIsNotDoneAgain(kind: EngineKind) async throws {
        try await withStore(kind) { test async throws -> Void in
            #expect(try await test.store.claim(in: call(1)) == .claimed)
            try await test.store.settle([7], in: call(1))
            #expect(try await test.store.claim(in: call(2)) == .completed([7]))
            #expect(try await test.store.claim(in: call(3, data: 2)) == .keyReused)
            #expect(try await test.store.claim(in: call(4, key: "other")) == .claimed)
            // After its time the key may be used again.
            test.clock.advance(seconds: 8 * 86_400)
            #expect(try await test.store.claim(in: call(5)) == .claimed)
        }
    }

    @Test func aCallThatFailedIsForgotten() async throws {
        try await withStore { test async throws -> Void in
            #expect(try await test.store.claim(in: call(1)) == .claimed)
            try await test.store.settle(nil, in: call(1))
            #expect(try await test.store.claim(in: call(2)) == .claimed)
        }
    }

    @Test func theOutcomeOfACallThatIsOverIsNotKnown() async throws {
        try await withStore { test async throws -> Void in
            #expect(try await test.store.claim(in: call(1)) == .claimed)
            test.store.release(owner: 1)
            await #expect(throws: DocumentError.outcomeUnknown) { try await test.store.claim(in: call(2)) }
            #expect(try await test.store.claim(isRepeatable: true, in: call(3)) == .claimed)
            // The first call's answer comes too late.
            await #expect(throws: DocumentError.self) { try await test.store.settle([1], in: call(1)) }
            try await test.store.settle([3], in: call(3))
            #expect(try await test.store.claim(in: call(4)) == .completed([3]))
        }
    }

    @Test func whatWasBegunIsKnownAfterARestart() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        for run in 1...3 {
            let engine = try EngineKind.sqlite.make(in: directory)
            let store = try DocumentStore(
                engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
            try store.start()
            switch run {
            case 1: #expect(try await store.claim(in: call(1)) == .claimed)
            case 2:
                await #expect(throws: DocumentError.outcomeUnknown) { try await store.claim(in: call(2)) }
                #expect(try await store.claim(isRepeatable: true, in: call(3)) == .claimed)
                try await store.settle([3], in: call(3))
            default: #expect(try await store.claim(in: call(4)) == .completed([3]))
            }
            await store.shutdown()
            _ = try store.check(report: { Issue.record("\($0)") }, progress: { _ in })
            try engine.close()
        }
    }

    /// A transaction under the key doesn't take a begin for an answer.
    @Test func aBeginIsNoAnswerToATransaction() async throws {
        try await withStore { test async throws -> Void in
            #expect(try await test.store.claim(in: call(1)) == .claimed)
            guard case .began = try await test.store.begin(in: call(2)) else {
                Issue.record("the transaction didn't begin")
                return
            }
        }
    }
}
