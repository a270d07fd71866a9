import DocumentModel
import NIOCore
import NIOEmbedded
import Testing
import WorkerProtocol
import WorkerTesting

@testable import Workers

/// What is on its way while something else happens.
@Suite struct InvocationRaceTests {
    /// The pool has given a place to an invocation whose client leaves before the decision has arrived.
    @Test func thePlaceOfAClientThatLeftMeanwhileIsFree() throws {
        let ring = InvocationRing()
        ring.processes.start = .silent
        let gone = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        worker.sendReady()
        gone.invocation?.clientLeft()
        ring.run()
        #expect(gone.heard == [])
        #expect(worker.takeInvocations() == [])
        let next = try ring.admit()
        #expect(next.heard == ["started"])
        #expect(worker.takeInvocations().count == 1)
    }

    /// The pool has given a place in a worker to an invocation, and the worker is lost before the decision has arrived.
    @Test func anInvocationWhoseWorkerIsLostMeanwhileIsTheNextToRun() throws {
        let ring = InvocationRing(maxInstances: 2, queue: 1)
        ring.processes.start = .silent
        let first = try ring.admit()
        ring.processes.start = .ready
        let worker = try #require(ring.processes.workers.first)
        worker.sendReady()
        worker.closeLink()
        // It takes the only place in the queue.
        let second = PlayedClient()
        second.invocation = try ring.function.admit(for: second, on: ring.loop) {
            InvocationRequest(head: InvocationHead(), body: .bytes(ByteBuffer(string: "null")))
        }
        ring.run()
        #expect(first.heard == ["started"])
        #expect(second.heard == [])
    }

    /// The host stops after it has asked for a process, and before there is one.
    @Test func aProcessThatStartsAfterTheEndOfItsWorkerIsKilledAtOnce() throws {
        let ring = InvocationRing()
        let client = PlayedClient()
        client.invocation = try ring.function.admit(for: client, on: ring.loop) {
            InvocationRequest(head: InvocationHead(), body: .bytes(ByteBuffer(string: "null")))
        }
        #expect(ring.processes.workers.isEmpty)
        ring.function.pool.stop()
        ring.run()
        let worker = try #require(ring.processes.workers.first)
        #expect(!worker.isRunning)
        #expect(ring.function.pool.isEmpty)
        #expect(client.heard.count == 1)
    }

    /// A write to the worker finds that it has ended, while more of what it has sent is already here.
    @Test func aLinkThatClosesWhileItsFramesAreReadLosesNoResult() throws {
        let ring = InvocationRing(concurrency: 2)
        let clients = [try ring.admit(), try ring.admit()]
        let worker = try #require(ring.processes.workers.first)
        clients[0].onAnswer = { worker.closeLink() }
        var frames = ByteBuffer()
        for id in worker.takeInvocations() { frames.writeFrame(.result, invocation: id) { $0.writeString("1") } }
        worker.send(frames)
        ring.run()
        let heard = ["started", "answered 1", "ended 1"]
        #expect(clients.map(\.heard) == [heard, heard])
        worker.crash()
        ring.run()
        #expect(worker.end?.kind == "crash")
    }

    /// A process may live on for a while after its link is closed, and its transactions would keep others waiting.
    @Test func aLostLinkReleasesTheTransactionsBeforeTheProcessEnds() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.begin(.readWrite(retrying: nil)), id)
        ring.documents.answer(.began(TransactionID(rawValue: 7), prefetched: []))
        ring.run()
        worker.closeLink()
        ring.eventLoop.run()
        #expect(client.heard == ["started", "answered INTERNAL"])
        #expect(ring.documents.released == [id])
    }
}
