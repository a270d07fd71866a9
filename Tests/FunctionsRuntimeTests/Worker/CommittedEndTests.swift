import DocumentModel
import NIOCore
import Synchronization
import TestSupport
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

/// The host ends an invocation with the commit of its handler's work. The worker says nothing more of it.
@Suite(.endsHangs) struct CommittedEndTests {
    private static let committed = DocumentResponse.committed(
        CommitResult(
            commitTime: Timestamp(seconds: 1, nanoseconds: 0),
            writeResults: [WriteResult(updateTime: nil, transformResults: [])]))

    /// Runs a function whose only operation is answered with `response`.
    ///
    /// - Returns: the operation, and the kinds of the frames that followed.
    private func run(_ function: Function, answering response: DocumentResponse) async throws
        -> (DocumentRequest, [Frame.Kind])
    {
        let link = try WorkerLinkPair()
        let invocation = WorkerInvocation(
            id: 1, body: ByteBuffer(), database: DatabaseID(project: "demo-shop"), writer: link.writer)
        let isOver = Atomic(false)
        invocation.start(
            function, head: InvocationHead(executionID: "e", timeLeft: 60_000), body: ByteBuffer(string: "null")
        ) { isOver.store(true, ordering: .releasing) }
        var sent: [Frame] = []
        while sent.isEmpty {
            await Task.yield()
            sent = try link.frames()
        }
        var operation = try #require(sent.first)
        try #require(operation.kind == .documentRequest && sent.count == 1)
        let number = try operation.payload.read(UInt32.self)
        let request = try DocumentRequest(decoding: Array(operation.payload.readableBytesView))
        invocation.receive(number, response.encoded)
        while !isOver.load(ordering: .acquiring) { await Task.yield() }
        return (request, try link.frames().map(\.kind))
    }

    @Test func nothingFollowsTheCommitOfATransactionalFunction() async throws {
        let function = onCall("f") { (_: CallableRequest<Int?>, transaction: Transaction) in
            try transaction.deleteDocument(transaction.firestore.document("a/b"))
            return 1
        }
        let (request, frames) = try await run(function, answering: Self.committed)
        #expect(request.completing == Array("1".utf8))
        #expect(frames == [])
    }

    @Test func theFailureOfThatCommitIsSent() async throws {
        let function = onCall("f") { (_: CallableRequest<Int?>, transaction: Transaction) in
            try transaction.deleteDocument(transaction.firestore.document("a/b"))
            return 1
        }
        let (_, frames) = try await run(function, answering: .failed(.invalidArgument("it is refused")))
        #expect(frames.last == .failure)
    }

    /// A handler may go on after its own transactions.
    @Test func theResultOfAnyOtherFunctionIsSent() async throws {
        let function = onCall("f") { (request: CallableRequest<Int?>) in
            let batch = request.firestore.batch()
            try batch.deleteDocument(request.firestore.document("a/b"))
            try await batch.commit()
            return 1
        }
        let (request, frames) = try await run(function, answering: Self.committed)
        #expect(request.completing == nil)
        #expect(frames == [.result])
    }
}
