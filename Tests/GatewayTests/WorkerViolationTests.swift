import DocumentModel
import FunctionManifest
import NIOCore
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// Workers that break the rules of the link.
@Suite struct WorkerViolationTests {
    struct Row: Sendable {
        var name: String
        var reason: String
        var send: @Sendable (ScriptedInvocation) -> Void
    }

    private static let rows: [Row] = [
        Row(name: "garbage", reason: "a frame has 4294967295 bytes, more than") { invocation in
            invocation.worker.send(ByteBuffer(repeating: 0xFF, count: 64))
        },
        Row(name: "a short frame", reason: "a frame has 3 bytes, fewer than its header") { invocation in
            invocation.worker.send(ByteBuffer(bytes: [0, 0, 0, 3, 17, 0, 0]))
        },
        Row(name: "an unknown kind", reason: "unknown frame kind 99") { invocation in
            invocation.worker.send(ByteBuffer(bytes: [0, 0, 0, 9, 99] + [UInt8](repeating: 0, count: 8)))
        },
        Row(name: "ready twice", reason: "it was ready twice") { $0.worker.sendReady() },
        Row(name: "a frame of the host's", reason: "a frame invoke comes from the host only") { invocation in
            invocation.worker.send(.invoke, invocation.id)
        },
        Row(name: "too long a line", reason: "a log frame has ") { invocation in
            invocation.worker.log(
                LogLine(level: 2, label: "f", message: String(repeating: "x", count: 1 << 20), metadata: [:]))
        },
        Row(name: "giving back what it runs", reason: "it gave back an invocation that it wasn't asked for") {
            $0.returnToHost()
        },
        Row(name: "an invalid status", reason: "99 is not a status that an answer can have") { $0.send(status: 99) },
        Row(name: "a broken document operation", reason: "a document operation is malformed: ") { invocation in
            invocation.worker.send(.documentRequest, invocation.id) {
                $0.writeInteger(1 as UInt32)
                $0.writeInteger(0xFF as UInt8)
            }
        },
        Row(name: "half a frame's content", reason: "a frame ends too early") { invocation in
            invocation.worker.send(.documentRequest, invocation.id) { $0.writeInteger(1 as UInt8) }
        },
        Row(name: "an unknown code", reason: "a failure has an unknown code") { invocation in
            invocation.worker.send(.failure, invocation.id) { $0.writeInteger(255 as UInt8) }
        },
    ]

    @Test func whoBreaksTheProtocolIsEnded() throws {
        for row in Self.rows {
            try GatewayRing.with([.callable("f"), .callable("other")]) { ring in
                let other = try ring.call("other")
                let client = try ring.call("f")
                let worker = try #require(ring.worker)
                row.send(try #require(worker.next()))
                ring.run()
                #expect(client.answer?.status == 500, "\(row.name)")
                #expect(client.answer?.body == CallableErrorTests.hidden, "\(row.name)")
                #expect(!worker.isRunning, "\(row.name)")
                guard case .violation(let reason) = worker.end else {
                    Issue.record("\(row.name): the worker's end is \(String(describing: worker.end))")
                    return
                }
                #expect(reason.hasPrefix(row.reason), "\(row.name): \(reason)")
                // No other function's worker is harmed.
                #expect(other.answer == nil)
                try #require(ring.next()).end("1")
                ring.run()
                #expect(other.answer?.body == #"{"result":1}"#)
            }
        }
    }

    @Test func anotherVersionOfTheProtocolIsRefused() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.start = .silent
            _ = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.sendReady(version: Frame.protocolVersion + 1)
            ring.run()
            guard case .violation(let reason) = worker.end else {
                Issue.record("the worker's end is \(String(describing: worker.end))")
                return
            }
            #expect(reason.contains("build the bundle with the host's FunctionsRuntime"))
        }
    }

    /// So releases needn't be built again for a later host.
    @Test func aBundleOfAnEarlierVersionIsServed() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.start = .silent
            let call = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.sendReady(version: UInt16(Manifest.servedVersions.lowerBound))
            ring.run()
            try #require(worker.next()).end("1")
            ring.run()
            #expect(call.answer?.body == #"{"result":1}"#)
        }
    }

    @Test func anotherWorkersInvocationIsOutOfReach() throws {
        try GatewayRing.with([.callable("f"), .callable("victim")]) { ring in
            let victim = try ring.call("victim")
            let id = try #require(ring.worker?.next()).id
            let client = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.send(.result, id) { $0.writeString("1") }
            ring.run()
            #expect(worker.end == .violation("it spoke of invocation \(id), which isn't its own"))
            #expect(client.answer?.status == 500)
            #expect(victim.answer == nil)
        }
    }

    /// Its process may go on as if nothing were: it is killed when it hasn't ended by itself.
    @Test func aWorkerThatClosesItsLinkIsEnded() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            let client = try ring.call("f")
            let worker = try #require(ring.worker)
            worker.closeLink()
            ring.run()
            #expect(client.answer?.body == CallableErrorTests.hidden)
            ring.advance(.milliseconds(9_900))
            #expect(worker.isRunning)
            ring.advance(.milliseconds(200))
            #expect(worker.end == .violation("it closed its link"))
        }
    }
}
