import DocumentModel
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

/// Document operations of workers, also after their invocation has ended.
@Suite struct WorkerDocumentTests {
    private static let began = DocumentResponse.began(TransactionID(rawValue: 1), prefetched: [])

    private func responses(_ invocation: ScriptedInvocation) throws -> [UInt32: DocumentResponse] {
        try invocation.responses.mapValues { try DocumentResponse(decoding: $0) }
    }

    @Test func anOperationIsDoneForItsInvocationAndAnswered() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            let request = DocumentRequest.get([try DocumentPath("items/1")], .strong)
            invocation.request(request, number: 7)
            let operation = try #require(ring.documents.next())
            #expect(operation.request == request)
            #expect(operation.context.owner == invocation.id)
            let response = DocumentResponse.documents([nil], readTime: Timestamp(seconds: 1, nanoseconds: 0))
            operation.answer(response)
            ring.run()
            #expect(try responses(invocation) == [7: response])
            invocation.end("1")
            ring.run()
            // It has begun no transaction.
            #expect(ring.documents.released.isEmpty)
        }
    }

    @Test func aTransactionThatIsLeftOpenEndsWithItsInvocation() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.request(.begin(.readWrite(retrying: nil)))
            try #require(ring.documents.next()).answer(Self.began)
            ring.run()
            #expect(ring.documents.released.isEmpty)
            invocation.end("1")
            ring.run()
            #expect(ring.documents.released == [invocation.id])
        }
    }

    /// Nothing else would ever end it, and it would keep others waiting.
    @Test func aTransactionWhoseBeginIsAnsweredAfterItsInvocationEndedIsReleasedAtOnce() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.request(.begin(.readWrite(retrying: nil)))
            let begin = try #require(ring.documents.next())
            invocation.end("1")
            ring.run()
            let before = ring.documents.released.count
            begin.answer(Self.began)
            ring.run()
            #expect(ring.documents.released.count == before + 1)
            #expect(ring.documents.released.last == invocation.id)
        }
    }

    @Test func aTransactionWhoseBeginIsAnsweredAfterItsWorkerIsLostIsReleasedAtOnce() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.request(.begin(.readWrite(retrying: nil)))
            let begin = try #require(ring.documents.next())
            invocation.worker.crash()
            ring.run()
            let before = ring.documents.released.count
            begin.answer(Self.began)
            ring.run()
            #expect(ring.documents.released.count == before + 1)
        }
    }

    @Test func theTransactionsOfAHandlerPastItsDeadlineAreReleasedAtOnce() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 1)]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.request(.begin(.readWrite(retrying: nil)))
            try #require(ring.documents.next()).answer(Self.began)
            ring.advance(.milliseconds(990))
            #expect(ring.documents.released.isEmpty)
            ring.advance(.milliseconds(20))
            #expect(ring.documents.released == [invocation.id])
            #expect(invocation.worker.isRunning)
        }
    }

    @Test func theTransactionsOfAClientWhoLeftAreReleasedAtOnce() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.request(.begin(.readWrite(retrying: nil)))
            try #require(ring.documents.next()).answer(Self.began)
            ring.run()
            client.hangUp()
            #expect(ring.documents.released == [invocation.id])
        }
    }

    /// A call with the same key and other data may have committed between this call's begin and its commit.
    @Test(arguments: [false, true])
    func aReusedKeyIsTheCallersMistakeAtTheBeginAndAtTheCommit(isAtCommit: Bool) throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f")
            let invocation = try #require(ring.next())
            invocation.request(.begin(.readWrite(retrying: nil)))
            if isAtCommit {
                try #require(ring.documents.next()).answer(Self.began)
                ring.run()
                invocation.request(
                    .commit([], transaction: TransactionID(rawValue: 1), completing: Array("1".utf8)), number: 2)
            }
            try #require(ring.documents.next()).answer(.keyReused)
            ring.run()
            let answer = try #require(client.answer)
            #expect(answer.status == 400)
            #expect(
                answer.body
                    == #"{"error":{"message":"this Idempotency-Key was used with other data","#
                    + #""status":"INVALID_ARGUMENT"}}"#)
            #expect(try responses(invocation)[isAtCommit ? 2 : 1] == .failed(.keyReused))
            #expect(invocation.cancellation == .clientGone)
            // What the runtime makes of the error comes too late.
            invocation.fail(.internal, "INTERNAL")
            ring.run()
            #expect(client.answer?.status == 400)
        }
    }

    @Test func aHandlerPastItsDeadlineGetsNothingDone() throws {
        try GatewayRing.with([.callable("f", timeoutSeconds: 1)]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            ring.advance(.milliseconds(1_010))
            invocation.request(.get([try DocumentPath("items/1")], .strong))
            ring.run()
            #expect(ring.documents.next() == nil)
            #expect(
                try responses(invocation) == [1: .failed(DocumentError(.cancelled, "the invocation is over"))])
        }
    }

    @Test func anInvocationHasSoManyOperationsUnderWayAndNoMore() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            _ = try ring.call("f")
            let invocation = try #require(ring.next())
            let request = DocumentRequest.get([try DocumentPath("items/1")], .strong)
            for number in 1...1001 { invocation.request(request, number: UInt32(number)) }
            ring.run()
            guard case .failed(let error)? = try responses(invocation)[1001] else {
                Issue.record("the last operation isn't refused")
                return
            }
            #expect(error.code == .resourceExhausted)
            #expect(invocation.responses.count == 1)
            // One that is answered makes room.
            try #require(ring.documents.next()).answer(.failed(DocumentError(.notFound, "")))
            ring.run()
            invocation.request(request, number: 1002)
            ring.run()
            #expect(invocation.responses[1002] == nil)
        }
    }
}
