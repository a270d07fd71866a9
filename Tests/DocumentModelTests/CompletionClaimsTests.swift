import DocumentModel
import Synchronization
import Testing

/// Calls under one key that come while another is in progress.
struct CompletionClaimsTests {
    /// Answers when the test says so.
    private final class Keeper: CompletionKeeper {
        enum Ask: Equatable {
            case begin(owner: UInt64?)
            case end([UInt8]?)
        }

        private struct State {
            var asked: [Ask] = []
            var begins: [@Sendable (Result<ClaimAnswer, DocumentError>) -> Void] = []
            var ends: [@Sendable (Result<Void, DocumentError>) -> Void] = []
        }

        private let state = Mutex(State())

        func begin(
            _ key: CompletionKey, isRepeatable: Bool, in context: OperationContext,
            completion: @escaping @Sendable (Result<ClaimAnswer, DocumentError>) -> Void
        ) {
            state.withLock {
                $0.asked.append(.begin(owner: context.owner))
                $0.begins.append(completion)
            }
        }

        func end(
            _ key: CompletionKey, _ answer: [UInt8]?, in context: OperationContext,
            completion: @escaping @Sendable (Result<Void, DocumentError>) -> Void
        ) {
            state.withLock {
                $0.asked.append(.end(answer))
                $0.ends.append(completion)
            }
        }

        var asked: [Ask] { state.withLock { $0.asked } }

        func begin(with answer: Result<ClaimAnswer, DocumentError>) throws {
            let completion = try #require(state.withLock { $0.begins.isEmpty ? nil : $0.begins.removeFirst() })
            completion(answer)
        }

        func end() throws {
            let completion = try #require(state.withLock { $0.ends.isEmpty ? nil : $0.ends.removeFirst() })
            completion(.success(()))
        }
    }

    private final class Call: Sendable {
        private let state = Mutex<Result<ClaimAnswer, DocumentError>?>(nil)
        let context: OperationContext

        init(_ owner: UInt64, data: UInt8 = 1) {
            context = OperationContext(
                owner: owner, completion: CompletionKey(scope: "f", key: "k", fingerprint: [data]))
        }

        var answer: Result<ClaimAnswer, DocumentError>? { state.withLock { $0 } }

        func claim(_ claims: CompletionClaims, _ keeper: Keeper) {
            claims.claim(isRepeatable: false, in: context, by: keeper) { answer in self.state.withLock { $0 = answer } }
        }
    }

    private let claims = CompletionClaims()
    private let keeper = Keeper()
    private let calls = [Call(1), Call(2), Call(3), Call(4, data: 2)]

    /// The first call is at work, and the others wait.
    private func begin() throws {
        for call in calls { call.claim(claims, keeper) }
        try keeper.begin(with: .success(.claimed))
        #expect(calls.map(\.answer) == [.success(.claimed), nil, nil, nil])
        #expect(keeper.asked == [.begin(owner: 1)])
    }

    @Test func theOthersHaveTheFirstCallsAnswer() throws {
        try begin()
        claims.settle([7], in: calls[0].context, by: keeper) { _ in }
        #expect(calls[1].answer == nil)
        try keeper.end()
        #expect(calls[1].answer == .success(.completed([7])))
        #expect(calls[2].answer == .success(.completed([7])))
        // The one with other data asks for itself.
        try keeper.begin(with: .success(.keyReused))
        #expect(calls[3].answer == .success(.keyReused))
        #expect((claims.count, claims.ownerCount) == (0, 0))
    }

    @Test func afterAFailureTheNextDoesTheWork() throws {
        try begin()
        claims.settle(nil, in: calls[0].context, by: keeper) { _ in }
        try keeper.end()
        #expect(keeper.asked.last == .begin(owner: 2))
        try keeper.begin(with: .success(.claimed))
        #expect(calls.map(\.answer).dropFirst() == [.success(.claimed), nil, nil])
    }

    @Test func afterALossTheOthersAskForThemselves() throws {
        try begin()
        claims.release(owner: 1, by: keeper)
        for call in calls.dropFirst() {
            try keeper.begin(with: .failure(.outcomeUnknown))
            #expect(call.answer == .failure(.outcomeUnknown))
        }
        #expect((claims.count, claims.ownerCount) == (0, 0))
    }

    /// The first call's claim has passed to the second one before its end is durable.
    @Test func aLateEndLeavesTheNextCallsClaim() throws {
        try begin()
        claims.settle(nil, in: calls[0].context, by: keeper) { _ in }
        claims.release(owner: 1, by: keeper)
        #expect(keeper.asked == [.begin(owner: 1), .end(nil), .begin(owner: 2)])
        try keeper.end()
        // The others still wait for the second one.
        #expect(keeper.asked == [.begin(owner: 1), .end(nil), .begin(owner: 2)])
        try keeper.begin(with: .success(.claimed))
        claims.settle([7], in: calls[1].context, by: keeper) { _ in }
        try keeper.end()
        #expect(calls[2].answer == .success(.completed([7])))
    }

    @Test func aWaitingCallThatIsOverWaitsNoMore() throws {
        try begin()
        #expect((claims.count, claims.ownerCount) == (1, 4))
        claims.release(owner: 2, by: keeper)
        #expect(claims.ownerCount == 3)
        #expect(calls[1].answer == .failure(DocumentError(.cancelled, "the invocation is over")))
        claims.settle([7], in: calls[0].context, by: keeper) { _ in }
        try keeper.end()
        #expect(calls[2].answer == .success(.completed([7])))
    }

    /// Its handler hasn't begun: the key is free.
    @Test func aCallThatIsOverBeforeItsBeginIsDurableIsForgotten() throws {
        for call in calls { call.claim(claims, keeper) }
        claims.release(owner: 1, by: keeper)
        try keeper.begin(with: .success(.claimed))
        #expect(keeper.asked == [.begin(owner: 1), .end(nil)])
        try keeper.end()
        #expect(calls[0].answer == .failure(DocumentError(.cancelled, "the invocation is over")))
        #expect(keeper.asked.last == .begin(owner: 2))
    }

    @Test func onlyTheOwnerSettles() throws {
        try begin()
        claims.settle([8], in: calls[1].context, by: keeper) { result in
            if case .success = result { Issue.record("it settled another call's work") }
        }
        #expect(keeper.asked == [.begin(owner: 1)])
    }
}
