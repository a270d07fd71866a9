import DocumentModel
import FunctionManifest
import NIOCore
import Synchronization
import TestSupport
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

/// Handlers that stream faster than their client reads.
@Suite(.endsHangs) struct CreditTests {
    /// How a streaming handler fares.
    private final class Progress: Sendable {
        private struct State {
            var begun = 0
            var isCancelled = false
            var end: Result<Void, any Error>?
        }

        private let state = Mutex(State())

        /// The chunk that it sends, from 1.
        var chunk: Int { state.withLock { $0.begun } }
        var isCancelled: Bool { state.withLock { $0.isCancelled } }
        var end: Result<Void, any Error>? { state.withLock { $0.end } }

        func began(_ chunk: Int) { state.withLock { $0.begun = chunk } }
        func cancelled() { state.withLock { $0.isCancelled = true } }
        func ended(_ result: Result<Void, any Error>) { state.withLock { $0.end = result } }
    }

    private static let chunkBytes = 65_536
    /// The chunks for which there is credit at once, one that is gathered, and the one that waits for more.
    private static let first = Frame.initialCredit / chunkBytes + 2

    /// Sends chunks until it is stopped or has sent `count`.
    private func start(sending count: Int) -> (WorkerInvocation, Progress) {
        let progress = Progress()
        let function = onRequest("floods") { _ in
            .stream { body in
                let chunk = [UInt8](repeating: 120, count: Self.chunkBytes)
                do {
                    try await withTaskCancellationHandler {
                        for number in 1...count {
                            progress.began(number)
                            try await body.write(chunk)
                        }
                    } onCancel: {
                        progress.cancelled()
                    }
                    progress.ended(.success(()))
                } catch {
                    progress.ended(.failure(error))
                    throw error
                }
            }
        }
        let invocation = WorkerInvocation(
            id: 1, body: ByteBuffer(), database: DatabaseID(project: "demo-shop"),
            // What is written is of no interest here.
            writer: LinkWriter(descriptor: -1))
        invocation.start(function, head: InvocationHead(executionID: "e", timeLeft: 60_000), body: ByteBuffer()) {}
        return (invocation, progress)
    }

    /// Returns once the handler waits for credit with a chunk.
    private func untilWaiting(_ invocation: WorkerInvocation, _ progress: Progress, with chunk: Int) async throws {
        while progress.chunk < chunk || !invocation.response.hasWaiting {
            try #require(progress.end == nil && progress.chunk <= chunk, "it sends without credit")
            await Task.yield()
        }
    }

    /// Returns once a cancelled handler has ended, and fails as soon as it waits for credit instead.
    private func untilCancelled(_ invocation: WorkerInvocation, _ progress: Progress) async throws {
        try #require(progress.isCancelled || progress.end != nil)
        while progress.end == nil {
            try #require(!invocation.response.hasWaiting, "it waits though it is cancelled")
            await Task.yield()
        }
        #expect(throws: CancellationError.self) { try progress.end?.get() }
    }

    /// The host cancels an invocation at its deadline.
    @Test func aHandlerThatWaitsForCreditEndsWhenItIsCancelled() async throws {
        let (invocation, progress) = start(sending: 1000)
        try await untilWaiting(invocation, progress, with: Self.first)
        invocation.cancel()
        try #require(progress.isCancelled)
        try await untilCancelled(invocation, progress)
    }

    /// Whichever comes first: the handler begins to wait, or it is cancelled.
    @Test func aHandlerThatIsAboutToWaitEndsToo() async throws {
        for _ in 0..<200 {
            let (invocation, progress) = start(sending: 1000)
            while progress.chunk < Self.first { await Task.yield() }
            invocation.cancel()
            try await untilCancelled(invocation, progress)
        }
    }

    /// The client takes bytes, as the link reports it.
    private func take(_ bytes: Int, from invocation: WorkerInvocation) {
        if invocation.response.receiveCredit(bytes) { invocation.response.sendGathered() }
    }

    @Test func creditLetsItGoOn() async throws {
        let (invocation, progress) = start(sending: Self.first + 2)
        try await untilWaiting(invocation, progress, with: Self.first)
        // Enough for all that is left: it never waits again.
        take(3 * Self.chunkBytes, from: invocation)
        try #require(!invocation.response.hasWaiting)
        while progress.end == nil { await Task.yield() }
        #expect(throws: Never.self) { try progress.end?.get() }
    }

    @Test func creditForOneChunkLetsOneGo() async throws {
        let (invocation, progress) = start(sending: 1000)
        try await untilWaiting(invocation, progress, with: Self.first)
        take(Self.chunkBytes, from: invocation)
        try await untilWaiting(invocation, progress, with: Self.first + 1)
        invocation.cancel()
        try await untilCancelled(invocation, progress)
    }
}
