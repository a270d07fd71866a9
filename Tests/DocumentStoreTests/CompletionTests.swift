import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct CompletionTests {
    private func context(_ key: String = "k", data: UInt8 = 1) -> OperationContext {
        OperationContext(completion: CompletionKey(scope: "buy/ada", key: key, fingerprint: [data]))
    }

    private func finish(
        _ test: TestStore, _ answer: UInt8, _ context: OperationContext
    ) async throws -> CommitAnswer {
        let write = Write(path: try DocumentPath("a/b"), operation: .set(["n": .integer(Int64(answer))]))
        return try await test.store.commit([write], completing: [answer], in: context)
    }

    private func isCommitted(_ answer: CommitAnswer) -> Bool {
        if case .committed = answer { true } else { false }
    }

    @Test(arguments: EngineKind.allCases)
    func workIsDoneOnceUnderAKey(kind: EngineKind) async throws {
        try await withStore(kind) { test async throws -> Void in
            #expect(isCommitted(try await finish(test, 1, context())))
            #expect(try await finish(test, 2, context()) == .completed([1]))
            #expect(try await test.get("a/b")?.fields == ["n": .integer(1)])
            #expect(try await test.store.begin(in: context()) == .completed([1]))
            #expect(isCommitted(try await finish(test, 3, context("other"))))
        }
    }

    @Test(arguments: EngineKind.allCases)
    func aRollbackTellsOfWorkThatAnEarlierTryHasDoneMeanwhile(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            for (key, isDone) in [("k", true), ("other", false)] {
                let context = context(key)
                let id = try await test.begin(context: context)
                // The earlier try's commit was on its way still.
                if isDone { _ = try await finish(test, 1, context) }
                #expect(try await test.store.rollback(id, in: context) == (isDone ? .completed([1]) : .rolledBack))
            }
        }
    }

    @Test func aKeyWithOtherDataIsRefused() async throws {
        try await withStore { test in
            _ = try await finish(test, 1, context())
            #expect(try await finish(test, 2, context(data: 2)) == .keyReused)
            #expect(try await test.store.begin(in: context(data: 2)) == .keyReused)
        }
    }

    @Test func aRefusedCommitKeepsNoAnswer() async throws {
        try await withStore { test in
            let write = Write(path: try DocumentPath("a/b"), operation: .set([:]), precondition: .exists(true))
            let failed = await refusal { _ = try await test.store.commit([write], completing: [1], in: context()) }
            #expect(failed?.code == .notFound)
            #expect(isCommitted(try await finish(test, 2, context())))
        }
    }

    @Test func anExpiredAnswerIsGone() async throws {
        try await withStore { test in
            _ = try await finish(test, 1, context())
            test.clock.advance(seconds: 7 * 86_400 + 1)
            #expect(isCommitted(try await finish(test, 2, context())))
            #expect(try await finish(test, 3, context()) == .completed([2]))
        }
    }

    @Test func aDamagedRecordHarmsNobodyElse() async throws {
        let engine = MemoryEngine()
        try await withStore(engine: engine) { test in
            _ = try await finish(test, 1, context())
            test.clock.advance(seconds: 2)
            try engine.write { storage in
                var keys: [[UInt8]] = []
                try storage.scanKeys(.completions, KeyRange(lower: [1], upper: [2]), reverse: false) { key in
                    keys.append(key)
                    return true
                }
                #expect(keys.count == 1)
                for key in keys { try storage.put(.completions, key, [0xFF]) }
                try storage.put(.completions, [2, 0], [])
            }
            // Nobody knows whether its work was done, so it isn't done again.
            async let refused = refusal { _ = try await finish(test, 2, context()) }
            async let done = finish(test, 3, context("other"))
            #expect(await refused?.code == .dataLoss)
            #expect(isCommitted(try await done))
        }
    }

    @Test func expiredAnswersAreRemoved() async throws {
        let engine = MemoryEngine()
        try await withStore(engine: engine) { test in
            for i in 0..<5 { _ = try await finish(test, 1, context("k\(i)")) }
            test.clock.advance(seconds: 8 * 86_400)
            try await test.set("a/c", [:])
            try engine.makeReadSession().read { reader in
                try reader.scan(.completions, .all, reverse: false) { key, _ in
                    Issue.record("still there: \(key)")
                    return true
                }
            }
        }
    }
}
