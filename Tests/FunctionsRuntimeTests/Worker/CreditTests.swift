import DocumentModel
import FunctionManifest
import NIOCore
import Synchronization
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

/// Handlers that stream faster than their client reads.
@Suite(.timeLimit(.minutes(10))) struct CreditTests {
    /// How a streaming handler fared, and what it is waited for by.
    private final class Progress: Sendable {
        let sent = AsyncStream.makeStream(of: Int.self)
        let ended = AsyncStream.makeStream(of: (any Error)?.self)
    }

    /// Sends half of what may be on its way with each chunk, until it is stopped or has sent `count`.
    private func start(sending count: Int) -> (WorkerInvocation, Progress) {
        let progress = Progress()
        let function = onRequest("floods") { _ in
            .stream { body in
                let chunk = [UInt8](repeating: 120, count: 65_536)
                do {
                    for number in 1...count {
                        progress.sent.continuation.yield(number)
                        try await body.write(chunk)
                    }
                    progress.ended.continuation.yield(nil)
                } catch {
                    progress.ended.continuation.yield(error)
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

    /// The chunks for which there is credit at once, and the one that waits for more.
    private static let first = Frame.initialCredit / 65_536 + 1

    @Test func aHandlerThatWaitsForCreditEndsWhenItIsCancelled() async {
        for _ in 0..<100 {
            let (invocation, progress) = start(sending: 1000)
            for await number in progress.sent.stream where number == Self.first { break }
            invocation.cancel()
            for await error in progress.ended.stream {
                #expect(error is CancellationError)
                break
            }
        }
    }

    @Test func creditLetsItGoOn() async {
        let (invocation, progress) = start(sending: 6)
        for await number in progress.sent.stream where number == Self.first { break }
        invocation.receiveCredit(65_536)
        for await number in progress.sent.stream where number == Self.first + 1 { break }
        invocation.receiveCredit(65_536)
        for await error in progress.ended.stream {
            #expect(error == nil)
            break
        }
    }
}
