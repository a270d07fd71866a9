import DocumentModel
import FunctionManifest
import NIOCore
import NIOEmbedded
import Testing
import WorkerTesting

@testable import Workers

/// What a worker's standard error says of a crash, in the log and in the worker's end.
struct WorkerOutputTests {
    private static let fatal = "Shop/Cart.swift:12: Fatal error: Index out of range"
    private static let trace = """

        *** Signal 4: Backtracing from 0x7f096996df7f... done ***

        *** Program crashed: Illegal instruction at 0x00007f096996df7f ***

        Thread 1 crashed:

         0 0x00007f096996df7f _assertionFailure() + 623 in libswiftCore.so
         1 0x0000564e0b4f4e61 S.f(_:) + 64 in t2 at /tmp/t2.swift:2:4

        """

    /// Runs a body with a worker and its standard error.
    private func with(_ body: (GatewayRing, ScriptedWorker, EmbeddedChannel) throws -> Void) throws {
        let function = FunctionManifest(
            name: "f", regions: [GatewayRing.region], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: 1,
            minInstances: 0, maxInstances: 1, labels: [:], secrets: [], ingress: "all", invoker: [],
            isTransactional: false,
            trigger: .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil)))
        try GatewayRing.with([function]) { ring in
            _ = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.worker.expectErrors()
            let errors = EmbeddedChannel(handler: WorkerOutput(worker.worker, isErrors: true), loop: ring.loop)
            errors.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            try body(ring, worker, errors)
        }
    }

    private func write(_ text: String, to errors: EmbeddedChannel) throws {
        try errors.writeInbound(ByteBuffer(string: text))
    }

    @Test func crashesAreOneRecordAtTheEndOfTheProcess() throws {
        try with { ring, worker, errors in
            for _ in 0..<3 { try write(Self.fatal + "\n" + Self.trace + "Backtrace took 0.02s\n\n", to: errors) }
            #expect(ring.log.lines("the function crashed").isEmpty)
            worker.crash()
            errors.close(promise: nil)
            ring.advance(.seconds(1))
            let records = ring.log.lines("the function crashed")
            #expect(records.count == 1)
            #expect(records.first?.metadata["error"] == Self.fatal)
        }
    }

    @Test func aRecordIsWithinTheBoundsOfOutput() throws {
        try with { ring, worker, errors in
            try write(String(repeating: "flood\n", count: OutputBudget.linesPerSecond), to: errors)
            try write(Self.fatal + "\n", to: errors)
            worker.crash()
            errors.close(promise: nil)
            ring.advance(.seconds(2))
            #expect(ring.log.lines("the function crashed").isEmpty)
            #expect(ring.log.lines("output was dropped").count == 1)
            guard case .crash(let status)? = worker.end else {
                Issue.record("it ended for another reason")
                return
            }
            #expect(status.message == Self.fatal)
        }
    }

    @Test func aBacktraceThatTakesTooLongEndsAsTheCrash() throws {
        try with { ring, worker, errors in
            try write(Self.fatal + "\n" + Self.trace, to: errors)
            worker.closeLink()
            ring.advance(.seconds(9))
            #expect(worker.isRunning)
            ring.advance(.seconds(2))
            guard case .crash(let status)? = worker.end else {
                Issue.record("it ended for another reason: \(String(describing: worker.end))")
                return
            }
            #expect(status.outcome == .signalled(9))
            #expect(status.message == Self.fatal)
            errors.close(promise: nil)
        }
    }

    @Test func aWorkerThatClosesItsLinkAndGoesOnViolatesTheProtocol() throws {
        try with { ring, worker, errors in
            worker.closeLink()
            ring.advance(.seconds(11))
            #expect(worker.end == .violation("it closed its link"))
            errors.close(promise: nil)
        }
    }
}
