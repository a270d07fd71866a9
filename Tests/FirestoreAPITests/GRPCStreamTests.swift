import CommitPipeline
import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import FirestoreMessages
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import SecurityRules
import Sharing
import StorageEngine
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

/// Streams of HTTP/2 whose clients send or take nothing.
@Suite struct GRPCStreamTests {
    private typealias Payload = HTTP2Frame.FramePayload

    private func data(_ bytes: ByteBuffer, end: Bool = false) -> Payload {
        .data(.init(data: .byteBuffer(bytes), endStream: end))
    }

    private func data(_ count: Int) -> Payload { data(ByteBuffer(repeating: 1, count: count)) }

    /// What a stream has sent, in short.
    private func sent(_ channel: EmbeddedChannel) throws -> [String] {
        var all: [String] = []
        while let payload = try channel.readOutbound(as: Payload.self) { all.append(Self.text(payload)) }
        return all
    }

    private static func text(_ payload: Payload) -> String {
        switch payload {
        case .data(let data): "\(data.data.readableBytes)\(data.endStream ? " end" : "")"
        case .headers(let headers): "status \(headers.headers.first(name: "grpc-status") ?? "")"
        case .rstStream(let error): "reset \(error.networkCode)"
        default: "other"
        }
    }

    // MARK: Out

    private func output(_ budget: MemoryBudget) throws -> (EmbeddedChannel, StreamOutput) {
        let output = StreamOutput(budget)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(output)
        output.begin { .stranger(1) }
        return (channel, output)
    }

    @Test func whatAClientHasNotTakenCounts() throws {
        let budget = MemoryBudget(total: 1 << 20)
        let (channel, _) = try output(budget)
        // Little of a stream doesn't count.
        channel.write(data(4000), promise: nil)
        #expect(budget.figures.used == 0)
        channel.write(data(150_000), promise: nil)
        #expect(budget.figures.used == 150_000)
        // A test's channel takes all that is flushed.
        channel.flush()
        #expect(budget.figures.used == 0)
        #expect(try sent(channel) == ["4000", "65536", "65536", "18928"])
        channel.write(data(100_000), promise: nil)
        #expect(budget.figures.used == 100_000)
        _ = try? channel.finish()
        #expect(budget.figures.used == 0)
    }

    @Test func aStreamWithTooMuchThatIsNotTakenEnds() throws {
        let budget = MemoryBudget(total: 1 << 20)
        let (channel, _) = try output(budget)
        channel.write(data(300_000), promise: nil)
        #expect(budget.figures.used == 300_000)
        // What follows would be an error of the connection.
        for payload in [data(300_000), data(1), .headers(.init(headers: ["grpc-status": "0"], endStream: true))] {
            let last = channel.eventLoop.makePromise(of: Void.self)
            channel.write(payload, promise: last)
            #expect(throws: (any Error).self) { try last.futureResult.wait() }
        }
        #expect(try sent(channel).last == "reset 11")
        #expect(budget.figures.used == 0)
    }

    @Test func aClientThatTakesNothingIsLetGo() throws {
        let (channel, output) = try output(MemoryBudget(total: 1 << 20))
        var now = NIODeadline.uptimeNanoseconds(0)
        func look() {
            now = now + ClientPace.patience
            output.look(now: now)
        }
        channel.write(data(5000), promise: nil)
        look()
        channel.flush()
        channel.write(data(5000), promise: nil)
        look()
        // Too early to tell.
        output.look(now: now + .seconds(1))
        #expect(try sent(channel) == ["5000"])
        look()
        #expect(try sent(channel) == ["5000", "reset 11"])
    }

    // MARK: In

    private struct Call {
        let channel = EmbeddedChannel()
        let bodies = MemoryBudget(total: 8 << 20)
        let handler: GRPCCallHandler

        init(_ path: String, _ headers: HPACKHeaders = [:]) throws {
            let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
            let output = StreamOutput(nil)
            handler = GRPCCallHandler(Self.calls(of: store, bodies), peer: nil, output) { _ in }
            try channel.pipeline.syncOperations.addHandlers([output, handler])
            var all = Self.headers(path)
            all.add(contentsOf: headers)
            try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: all)))
        }

        static func headers(_ path: String) -> HPACKHeaders {
            [
                ":method": "POST", ":path": "/google.firestore.v1.Firestore/\(path)",
                "content-type": "application/grpc",
            ]
        }

        static func calls(
            of store: DocumentStore, _ bodies: MemoryBudget, _ requester: Requester = Requester(.admin)
        ) -> FirestoreCalls {
            let rules = ClientRules(.open)
            var limits = GRPCLimits()
            limits.transferSeconds = 60
            return FirestoreCalls(
                store, database: DatabaseID(project: "demo"),
                service: StoreDocumentService(store, database: DatabaseID(project: "demo"), rules: rules),
                rules: rules,
                principals: PrincipalReader(
                    isDevelopment: true, known: { $0 == "ada" ? Requester(.admin) : nil },
                    verify: { _ in requester }),
                bodies: bodies, limits: limits, isForeign: { $0 != "http://localhost" })
        }
    }

    private let message = ByteBuffer.framed(
        FSGetDocumentRequest.with { $0.name = String(repeating: "x", count: 100_000) })

    @Test func aMessageThatIsTooLargeIsInvalid() throws {
        let call = try Call("Commit")
        var start = ByteBuffer(integer: UInt8(0))
        start.writeInteger(UInt32(12 << 20))
        try call.channel.writeInbound(data(start))
        #expect(try sent(call.channel).first == "status 3")
        _ = try? call.channel.finish()
    }

    /// SDKs take the error for that of the first write that isn't answered, and give it up.
    @Test(.endsHangs) func theWritesBeforeOneThatIsTooLargeAreDone() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let channel = try await channel("Write", Call.calls(of: store, MemoryBudget(total: 8 << 20)))
        var input = ByteBuffer.framed(FSWriteRequest.with { $0.database = Self.database })
        input.writeFramed(
            FSWriteRequest.with { request in
                request.writes = [FSWrite.with { $0.update.name = Self.database + "/documents/c/a" }]
            })
        input.writeInteger(UInt8(0))
        input.writeInteger(UInt32(12 << 20))
        try await channel.writeInbound(data(input))
        var sent: [String] = []
        while !sent.contains(where: { $0.hasPrefix("status ") && $0 != "status " }) {
            await channel.testingEventLoop.run()
            while let payload = try await channel.readOutbound(as: Payload.self) { sent.append(Self.text(payload)) }
        }
        // The answers to the first message and to the write.
        #expect(sent.prefix { $0 != "status 3" }.count { Int($0) != nil } == 2)
        #expect(sent.contains("status 3"))
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        await store.shutdown()
    }

    /// Of a write that is under way the client would get no answer, and send it again: an increment would count twice.
    @Test(.endsHangs, arguments: ["status 8", "status 4"])
    func theWritesBeforeOneThatIsNotReceivedAreDone(status: String) async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        let channel = try await channel("Write", Call.calls(of: store, MemoryBudget(total: 8 << 20)))
        var input = ByteBuffer.framed(FSWriteRequest.with { $0.database = Self.database })
        input.writeFramed(
            FSWriteRequest.with { request in
                request.writes = [FSWrite.with { $0.update.name = Self.database + "/documents/c/a" }]
            })
        try await channel.writeInbound(data(input))
        var next = ByteBuffer(integer: UInt8(0))
        next.writeInteger(UInt32(8 << 20))
        // More than a stranger may have; otherwise the rest never comes.
        if status == "status 8" { next.writeRepeatingByte(0, count: 5 << 20) }
        try await channel.writeInbound(data(next))
        await channel.testingEventLoop.advanceTime(by: .seconds(61))
        // Until now no write is done.
        try store.start()
        var sent: [String] = []
        while !sent.contains(where: { $0.hasPrefix("status ") && $0 != "status " }) {
            await channel.testingEventLoop.run()
            while let payload = try await channel.readOutbound(as: Payload.self) { sent.append(Self.text(payload)) }
        }
        // The answers to the first message and to the write.
        #expect(sent.prefix { $0 != status }.count { Int($0) != nil } == 2)
        #expect(sent.contains(status))
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        await store.shutdown()
    }

    /// Until the connection closes, a write could be done whose answer doesn't reach its client.
    @Test(.endsHangs) func aHostThatStopsAnswersTheWritesBeforeAndTakesNoMore() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        let channel = try await channel("Write", Call.calls(of: store, MemoryBudget(total: 8 << 20)))
        func write(_ name: String) -> FSWriteRequest {
            .with { request in
                request.writes = [FSWrite.with { $0.update.name = Self.database + "/documents/c/" + name }]
            }
        }
        var input = ByteBuffer.framed(FSWriteRequest.with { $0.database = Self.database })
        input.writeFramed(write("a"))
        try await channel.writeInbound(data(input))
        try await channel.testingEventLoop.submit {
            try channel.pipeline.syncOperations.handler(type: GRPCCallHandler.self).stop()
        }.get()
        try await channel.writeInbound(data(ByteBuffer.framed(write("b"))))
        try store.start()
        var sent: [String] = []
        while !sent.contains(where: { $0.hasPrefix("status ") && $0 != "status " }) {
            await channel.testingEventLoop.run()
            while let payload = try await channel.readOutbound(as: Payload.self) { sent.append(Self.text(payload)) }
        }
        // UNAVAILABLE, after the answers to the first message and to the write.
        #expect(sent.prefix { $0 != "status 14" }.count { Int($0) != nil } == 2)
        #expect(sent.contains("status 14"))
        let service = StoreDocumentService(store, database: DatabaseID(project: "demo"), rules: ClientRules(.open))
        #expect(try await service.get([try DocumentPath("c/b")], .strong, as: .admin).documents.first == .some(nil))
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        await store.shutdown()
    }

    /// With another token the server would send it again: an increment would count twice.
    @Test(.endsHangs) func theWriteThatIsUnderWayWhileItsKeyIsRevokedIsAnswered() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        let key = RevocableKey()
        let requester = Requester(serverUntil: Timestamp(seconds: 200_000_000_000, nanoseconds: 0)) { key.isRevoked() }
        let calls = Call.calls(of: store, MemoryBudget(total: 8 << 20), requester)
        let channel = try await channel("Write", calls, ["authorization": "Bearer grace"])
        var input = ByteBuffer.framed(FSWriteRequest.with { $0.database = Self.database })
        input.writeFramed(
            FSWriteRequest.with { request in
                request.writes = [FSWrite.with { $0.update.name = Self.database + "/documents/c/a" }]
            })
        try await channel.writeInbound(data(input))
        // As the stream begins, and before the write.
        while key.checks < 2 {
            await channel.testingEventLoop.run()
            await Task.yield()
        }
        key.revoke()
        calls.checkTokens()
        try store.start()
        var sent: [String] = []
        while !sent.contains(where: { $0.hasPrefix("status ") && $0 != "status " }) {
            await channel.testingEventLoop.run()
            while let payload = try await channel.readOutbound(as: Payload.self) { sent.append(Self.text(payload)) }
        }
        // UNAUTHENTICATED, after the answers to the first message and to the write.
        #expect(sent.prefix { $0 != "status 16" }.count { Int($0) != nil } == 2)
        #expect(sent.contains("status 16"))
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        await store.shutdown()
    }

    private final class RevocableKey: Sendable {
        private let state = Mutex((checks: 0, isRevoked: false))

        var checks: Int { state.withLock { $0.checks } }

        func revoke() { state.withLock { $0.isRevoked = true } }

        func isRevoked() -> Bool {
            state.withLock { state in
                state.checks += 1
                return state.isRevoked
            }
        }
    }

    /// Such a client sends what waits again, on its next stream.
    @Test(.endsHangs) func whatWaitsIsNotWrittenOnceTheClientHasLeft() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        let bodies = MemoryBudget(total: 8 << 20)
        let channel = try await channel("Write", Call.calls(of: store, bodies))
        var input = ByteBuffer.framed(FSWriteRequest.with { $0.database = Self.database })
        for name in ["a", "b"] {
            input.writeFramed(
                FSWriteRequest.with { request in
                    request.writes = [FSWrite.with { $0.update.name = Self.database + "/documents/c/" + name }]
                })
        }
        input.writeInteger(UInt8(0))
        input.writeInteger(UInt32(12 << 20))
        try await channel.writeInbound(data(input))
        #expect(bodies.figures.used > 0)
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        try store.start()
        while bodies.figures.used > 0 { await Task.yield() }
        let service = StoreDocumentService(store, database: DatabaseID(project: "demo"), rules: ClientRules(.open))
        #expect(try await service.get([try DocumentPath("c/b")], .strong, as: .admin).documents.first == .some(nil))
        await store.shutdown()
    }

    /// One that is too large, has a text that isn't decoded, or a time that is invalid.
    @Test(.endsHangs) func aTargetThatIsRefusedLeavesTheOthers() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let bodies = MemoryBudget(total: 8 << 20)
        let channel = try await channel("Listen", Call.calls(of: store, bodies))
        func target(_ id: Int32, _ name: String) -> FSListenRequest {
            .with { request in
                request.database = Self.database
                request.addTarget.targetID = id
                request.addTarget.documents.documents = [Self.database + "/documents/c/" + name]
            }
        }
        var input = ByteBuffer.framed(target(1, "a"))
        input.writeFramed(target(2, String(repeating: "x", count: 1 << 20)))
        input.writeFramed(target(3, "b"))
        input.writeFramed(target(4, "e" + String(repeating: "\u{301}", count: 1001)))
        var timed = target(5, "a")
        timed.addTarget.readTime.nanos = -1
        input.writeFramed(timed)
        input.writeFramed(target(6, "c"))
        try await channel.writeInbound(data(input))
        var changes: [FSTargetChange] = []
        var reader = GRPCMessageReader(maxBytes: 1 << 20)
        while ![1, 3, 6].allSatisfy({ id in
            changes.contains { $0.targetChangeType == .current && $0.targetIds == [id] }
        }) {
            await channel.testingEventLoop.run()
            while let payload = try await channel.readOutbound(as: Payload.self) {
                guard case .data(let data) = payload, case .byteBuffer(let bytes) = data.data else { continue }
                reader.append(bytes)
                while let message = try reader.next() {
                    let response = try FSListenResponse(serializedBytes: Array(message.readableBytesView))
                    changes.append(response.targetChange)
                }
            }
        }
        let removed = changes.filter { $0.targetChangeType == .remove }
        #expect(removed.map(\.targetIds) == [[2], [4], [5]])
        #expect(removed.map(\.cause.code) == [3, 3, 3])
        _ = try? await channel.finish(acceptAlreadyClosed: true)
        while bodies.figures.used > 0 { await Task.yield() }
        await store.shutdown()
    }

    private static let database = "projects/demo/databases/(default)"

    /// A stream that has begun.
    private func channel(
        _ path: String, _ calls: FirestoreCalls, _ headers: HPACKHeaders = [:]
    ) async throws -> NIOAsyncTestingChannel {
        let channel = NIOAsyncTestingChannel()
        try await channel.testingEventLoop.submit {
            let output = StreamOutput(nil)
            try channel.pipeline.syncOperations.addHandlers(
                [output, GRPCCallHandler(calls, peer: nil, output) { _ in }])
        }.get()
        var all = Call.headers(path)
        all.add(contentsOf: headers)
        try await channel.writeInbound(Payload.headers(.init(headers: all)))
        return channel
    }

    @Test(arguments: [false, true]) func aRequestThatIsNotEndedIsLetGo(hasMessage: Bool) throws {
        let call = try Call("GetDocument")
        if hasMessage {
            try call.channel.writeInbound(data(message))
            #expect(call.bodies.figures.used > 100_000)
        }
        let start = call.channel.eventLoop.now
        call.handler.look(now: start + .seconds(59))
        #expect(try sent(call.channel).isEmpty)
        call.handler.look(now: start + .seconds(61))
        #expect(try sent(call.channel).first == "status 4")
        #expect(call.bodies.figures.used == 0)
    }

    @Test(arguments: ["GetDocument", "Write"]) func aRequestThatIsWholeHasTime(path: String) throws {
        let call = try Call(path)
        try call.channel.writeInbound(data(message, end: path == "GetDocument"))
        call.handler.look(now: call.channel.eventLoop.now + .minutes(2))
        call.channel.embeddedEventLoop.advanceTime(by: .minutes(2))
        #expect(try !sent(call.channel).contains("status 4"))
        _ = try? call.channel.finish()
    }

    @Test func aSecondRequestEndsTheCall() throws {
        let call = try Call("GetDocument")
        for _ in 0..<2 { try call.channel.writeInbound(data(message)) }
        #expect(try sent(call.channel).contains("reset 0"))
    }

    // MARK: Connections

    /// A connection that its client has begun.
    private func connection(
        serveRequest: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try GRPCConnection(Call.calls(of: store, MemoryBudget(total: 1 << 20))).configure(
            channel, serveRequest: serveRequest)
        try channel.writeInbound(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        try channel.writeInbound(frame(4))
        return channel
    }

    /// A frame (RFC 9113, section 6).
    private func frame(_ type: UInt8, _ flags: UInt8 = 0, stream: UInt8 = 0, _ content: [UInt8] = []) -> ByteBuffer {
        ByteBuffer(bytes: [0, 0, UInt8(content.count), type, flags, 0, 0, 0, stream] + content)
    }

    /// - Parameter isWhole: whether they are all of the request.
    private func headers(_ headers: HPACKHeaders, isWhole: Bool = true) throws -> ByteBuffer {
        var block = ByteBuffer()
        var encoder = HPACKEncoder(allocator: ByteBufferAllocator())
        try encoder.encode(headers: headers, to: &block)
        return frame(1, isWhole ? 5 : 4, stream: 1, Array(block.readableBytesView))
    }

    private var ping: ByteBuffer { frame(6, 0, [1, 2, 3, 4, 5, 6, 7, 8]) }

    private struct SentFrame {
        let type: UInt8
        let flags: UInt8
        let stream: UInt8
        let content: [UInt8]

        var kind: [UInt8] { [type, flags] }
    }

    private func sentFrames(_ channel: EmbeddedChannel) throws -> [SentFrame] {
        var sent = ByteBuffer()
        while case .byteBuffer(var part)? = try channel.readOutbound(as: IOData.self) { sent.writeBuffer(&part) }
        var frames: [SentFrame] = []
        while let head = sent.readBytes(length: 9) {
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let content = sent.readBytes(length: length) ?? []
            frames.append(SentFrame(type: head[3], flags: head[4], stream: head[8], content: content))
        }
        return frames
    }

    /// The libraries of Go and Java measure a connection so, by default.
    @Test func aClientMayPingWithAllThatItReceives() throws {
        let channel = try connection()
        for _ in 0..<500 { try channel.writeInbound(ping) }
        #expect(channel.isActive)
        let answers = try sentFrames(channel).filter { $0.kind == [6, 1] }
        #expect(answers.count == 500)
        _ = try? channel.finish()
    }

    /// A proxy sends requests of several clients by one connection.
    @Test func aMalformedRequestEndsItsStreamOnly() throws {
        let channel = try connection()
        try channel.writeInbound(
            headers([":method": "GET", ":scheme": "http", ":path": "/", ":authority": "h", "connection": "x"]))
        try channel.writeInbound(ping)
        #expect(channel.isActive)
        let frames = try sentFrames(channel)
        // RST_STREAM, and the PING's answer.
        #expect(frames.contains { $0.type == 3 && $0.stream == 1 })
        #expect(frames.last?.kind == [6, 1])
        _ = try? channel.finish()
    }

    /// What is sent to a client waits until it takes more, and calls may end meanwhile.
    @Test func aCallThatEndsBeforeItsAnswerIsSentLeavesTheOthersAlone() throws {
        let channel = try connection()
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        try channel.writeInbound(
            headers([
                ":method": "POST", ":scheme": "http", ":path": "/x.Y/Z", ":authority": "h",
                "content-type": "application/grpc",
            ]))
        // RST_STREAM.
        try channel.writeInbound(frame(3, 0, stream: 1, [0, 0, 0, 8]))
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        try channel.writeInbound(ping)
        #expect(channel.isActive)
        #expect(try sentFrames(channel).last?.kind == [6, 1])
        _ = try? channel.finish()
    }

    /// GOAWAY for what may still come, and before the end for what has come (RFC 9113, section 6.8).
    @Test func aConnectionThatEndsNamesItsLastStream() throws {
        let channel = try connection()
        try channel.writeInbound(
            headers(
                [
                    ":method": "POST", ":scheme": "http", ":path": "/google.firestore.v1.Firestore/Commit",
                    ":authority": "h", "content-type": "application/grpc",
                ], isWhole: false))
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(channel.isActive)
        #expect(try sentFrames(channel).filter { $0.type == 7 }.map(\.content) == [[127, 255, 255, 255, 0, 0, 0, 0]])
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(try sentFrames(channel).filter { $0.type == 7 }.map(\.content) == [[0, 0, 0, 1, 0, 0, 0, 0]])
        #expect(!channel.isActive)
        _ = try? channel.finish()
    }

    /// It has 64 KiB until its host says otherwise: large writes over a long way would take minutes.
    @Test func aConnectionHasTheWindowOfACall() throws {
        let channel = try connection()
        let request: HPACKHeaders = [
            ":method": "POST", ":scheme": "http", ":path": "/google.firestore.v1.Firestore/Commit", ":authority": "h",
            "content-type": "application/grpc",
        ]
        try channel.writeInbound(headers(request, isWhole: false))
        // The beginning of a message.
        try channel.writeInbound(frame(0, 0, stream: 1, [0, 0, 0, 1, 0]))
        let update = try sentFrames(channel).first { $0.type == 8 && $0.stream == 0 }
        // From 64 KiB to 1 MiB.
        #expect(update?.content.prefix(2) == [0, 15])
        _ = try? channel.finish()
    }

    @Test func anErrorOfTheConnectionEndsIt() throws {
        let channel = try connection()
        // DATA of a stream that hasn't begun.
        try channel.writeInbound(frame(0, 0, stream: 5, [1]))
        #expect(!channel.isActive)
        #expect(try sentFrames(channel).last?.kind == [7, 0])
    }

    /// Answers each request with headers that are larger than a frame.
    private final class LargeHead: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // Huffman's code doesn't make them smaller.
            let headers: HPACKHeaders = [":status": "200", "x": String(repeating: "~", count: 20_000)]
            context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: headers, endStream: true))), promise: nil)
        }
    }

    /// A preflight's answer has the headers that it asks for. The client would read those of later answers wrongly.
    @Test func headersThatFitNoFrameEndTheConnection() throws {
        let channel = try connection { try $0.pipeline.syncOperations.addHandler(LargeHead()) }
        try channel.writeInbound(headers([":method": "GET", ":scheme": "http", ":path": "/", ":authority": "h"]))
        #expect(!channel.isActive)
    }

    /// A page of another site could otherwise read and write all in development.
    @Test(arguments: [("https://example.com", "status 7"), ("http://localhost", nil)])
    func pagesOfOtherSitesAreNotTheOwner(origin: String, status: String?) throws {
        for token in ["owner", "ya29.c.opaque"] {
            let call = try Call("GetDocument", ["origin": origin, "authorization": "Bearer \(token)"])
            #expect(try sent(call.channel).first == status)
            _ = try? call.channel.finish()
        }
    }
}
