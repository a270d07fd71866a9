import DocumentModel
import NIOCore
import TestSupport
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

/// Waits for what may never happen end with their task.
@Suite(.endsHangs) struct WaitCancellationTests {
    private func invocation(_ link: WorkerLinkPair) -> WorkerInvocation {
        WorkerInvocation(id: 1, body: ByteBuffer(), database: DatabaseID(project: "demo-shop"), writer: link.writer)
    }

    private let next = DocumentRequest.database(DatabaseRequest(.next, instance: "", observation: 1))

    private func code(_ answer: [UInt8]) throws -> StatusCode? {
        guard case .failed(let error) = try DocumentResponse(decoding: answer) else { return nil }
        return error.code
    }

    @Test func aWaitEndsWithItsTask() async throws {
        let link = try WorkerLinkPair()
        let invocation = invocation(link)
        let wait = Task { await invocation.perform(next) }
        var sent: [Frame] = []
        while sent.isEmpty {
            await Task.yield()
            sent = try link.frames()
        }
        wait.cancel()
        #expect(try code(await wait.value) == .cancelled)
        // The answer that still comes is dropped.
        var operation = try #require(sent.first)
        invocation.receive(
            try operation.payload.read(UInt32.self), DocumentResponse.failed(.invalidArgument("late")).encoded)
    }

    @Test func aWaitOfACancelledTaskEnds() async throws {
        let link = try WorkerLinkPair()
        let invocation = invocation(link)
        let wait = Task {
            while !Task.isCancelled { await Task.yield() }
            return await invocation.perform(next)
        }
        wait.cancel()
        #expect(try code(await wait.value) == .cancelled)
    }

    /// What was written is known only from its answer.
    @Test func aWriteIsWaitedFor() async throws {
        let link = try WorkerLinkPair()
        let invocation = invocation(link)
        let write = Task { await invocation.perform(.commit([], transaction: nil, completing: nil)) }
        var sent: [Frame] = []
        while sent.isEmpty {
            await Task.yield()
            sent = try link.frames()
        }
        write.cancel()
        var operation = try #require(sent.first)
        invocation.receive(
            try operation.payload.read(UInt32.self), DocumentResponse.failed(.invalidArgument("refused")).encoded)
        #expect(try code(await write.value) == .invalidArgument)
    }
}
