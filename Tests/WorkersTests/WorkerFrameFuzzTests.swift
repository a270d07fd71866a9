import DocumentModel
import FunctionManifest
@testable import Gateway
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import WorkerProtocol
@testable import Workers
import WorkerTesting

/// What a worker writes to its link, changed by its structure. It costs that worker at most: every client is answered, and
/// the next worker serves.
@Suite(.endsHangs(afterWorking: FuzzRounds.seconds ?? 0)) struct WorkerFrameFuzzTests {
    // MARK: Frames

    /// A frame of each kind, as the runtime writes them.
    private static func frames(for invocation: UInt64) -> [[UInt8]] {
        let path = DocumentPath(unchecked: "items/1")
        var query = Query(collectionID: "items")
        query.filter = .field(FieldPath(segments: ["n"]), .equal, .integer(3))
        let operations: [DocumentRequest] = [
            .get([path], .strong), .query(query, .strong), .begin(.readWrite(retrying: nil)),
            .commit([Write(path: path, operation: .set(["n": .integer(1)]))], transaction: nil, completing: nil),
        ]
        func frame(_ kind: Frame.Kind, _ body: (inout ByteBuffer) -> Void = { _ in }) -> [UInt8] {
            var buffer = ByteBuffer()
            buffer.writeFrame(kind, invocation: kind == .ready || kind == .params ? 0 : invocation, body)
            return Array(buffer.readableBytesView)
        }
        let failure = InvocationFailure(
            code: .failedPrecondition, message: "no", details: ByteBuffer(string: #"{"a":[1]}"#))
        let line = LogLine(
            level: 3, label: "f", message: "a line", metadata: ["a": "b", "c": .members(["d": .list(["e"])])])
        let head = HTTPAnswerHead(status: 201, headers: HeaderBlock([(name: "X-A", value: "b")]))
        let identity = InvocationHead.VerifiedIdentity(id: "ada", claims: ByteBuffer(string: "{}"))
        var params = ParamValues(function: "f")
        params.values = ["A": .int(1), "B": .list(["x"]), "C": .boolean(true), "D": .float(0.5)]
        params.secrets = ["S": "secret"]
        return [
            frame(.ready) { $0.writeInteger(Frame.protocolVersion) }, frame(.result) { $0.writeString(#"{"a":1}"#) },
            frame(.failure) { failure.write(to: &$0) }, frame(.chunk) { $0.writeString("1") },
            frame(.httpHead) { head.write(to: &$0) }, frame(.log) { line.write(to: &$0) },
            frame(.recalled) { $0.writeString("null") },
        ]
            + operations.map { operation in
                frame(.documentRequest) {
                    $0.writeInteger(7 as UInt32)
                    $0.writeBytes(operation.encoded)
                }
            }
            // What only the host sends.
            + [
                frame(.invoke) {
                    InvocationHead(executionID: "x", timeLeft: 5, auth: identity, streams: true).write(to: &$0)
                    $0.writeString("null")
                },
                frame(.cancel) { $0.writeInteger(CancellationReason.deadline.rawValue) },
                frame(.credit) { $0.writeInteger(UInt32.max) }, frame(.params) { params.write(to: &$0) },
                frame(.recall),
            ]
    }

    /// A few frames, some of them changed; the lengths of most fit.
    private static func stream(_ random: inout SeededGenerator, for invocations: [UInt64]) -> [UInt8] {
        var mutator = ByteMutator(random)
        defer { random = mutator.random }
        var stream: [UInt8] = []
        for _ in 0...Int.random(in: 0...5, using: &mutator.random) {
            let known = mutator.random.pick(invocations + [0])
            let frames = frames(for: known)
            var frame = mutator.random.pick(frames)
            if !mutator.random.once(in: 3) {
                let payload = mutator.mutated(Array(frame[4...]), like: frames.map { Array($0[4...]) })
                let count = UInt32(truncatingIfNeeded: payload.count)
                frame = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> $0) } + payload
            }
            stream += mutator.random.once(in: 6) ? mutator.mutated(frame) : frame
        }
        return stream
    }

    /// The stream in pieces of any size.
    private static func pieces(of stream: [UInt8], _ random: inout SeededGenerator) -> [ByteBuffer] {
        var rest = stream[...]
        var pieces: [ByteBuffer] = []
        while !rest.isEmpty {
            let count = random.once(in: 2) ? rest.count : Int.random(in: 1...rest.count, using: &random)
            pieces.append(ByteBuffer(bytes: rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    @Test func changedFramesAreDecodedOrRefused() async {
        await FuzzRounds.run("frames", count: 1000) { random, _ in
            var parser = FrameParser()
            let stream = Self.stream(&random, for: [1, 2])
            do {
                for var piece in Self.pieces(of: stream, &random) {
                    parser.append(&piece)
                    while let frame = try parser.next() { Self.decode(frame) }
                }
            } catch {
                #expect(error is ProtocolViolation)
            }
        }
    }

    /// Reads a payload as every kind that it may be, and writes again what was read.
    private static func decode(_ frame: Frame) {
        func each<Content>(
            _ read: (inout ByteBuffer) throws -> Content, _ write: (Content, inout ByteBuffer) -> Void
        ) where Content: Equatable {
            var payload = frame.payload
            guard let content = try? read(&payload) else { return }
            var written = ByteBuffer()
            write(content, &written)
            let again = try? read(&written)
            #expect(again == content)
        }
        each(InvocationHead.init) { $0.write(to: &$1) }
        each(InvocationFailure.init) { $0.write(to: &$1) }
        each(HTTPAnswerHead.init) { $0.write(to: &$1) }
        each(LogLine.init) { $0.write(to: &$1) }
        each(ParamValues.init) { $0.write(to: &$1) }
        var payload = frame.payload
        if let head = try? HTTPAnswerHead(from: &payload) { _ = head.sentHeaders }
        let bytes = Array(frame.payload.readableBytesView)
        _ = try? DocumentRequest(decoding: bytes)
        _ = try? DocumentResponse(decoding: bytes)
        _ = try? DeliveryAttempt(decoding: bytes)
    }

    // MARK: The link

    private static let functions: [FunctionManifest] = [
        manifest("call", .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: 1))),
        manifest("page", .http(.init(cors: .any))),
    ]

    private static func manifest(_ name: String, _ trigger: TriggerManifest) -> FunctionManifest {
        FunctionManifest(
            name: name, regions: [GatewayRing.region], memoryMiB: 256, timeoutSeconds: 1, cpu: 1, concurrency: 4,
            minInstances: 0, maxInstances: 1, labels: [:], secrets: [], ingress: "all", invoker: [],
            isTransactional: false, trigger: trigger)
    }

    @Test func aBadWorkerIsReplacedAndItsClientsAreAnswered() async throws {
        try await FuzzRounds.run("workers' links", count: 60) { random, seed in
            try Self.round(&random, seed)
        }
    }

    /// Not `async`: the ring belongs to one thread.
    private static func round(_ random: inout SeededGenerator, _ seed: UInt64) throws {
        var random = random
        try GatewayRing.with(functions) { ring in
            let clients =
                try (0..<3).map { _ in
                    try ring.call("call", "null", random.once(in: 2) ? ["Accept": "text/event-stream"] : [:])
                } + (0..<3).map { _ in try ring.send("GET", GatewayRing.path("page")) }
            ring.run()
            for _ in 0..<4 {
                for worker in ring.processes.workers where worker.isRunning {
                    let known = worker.frames.map(\.invocation).filter { $0 != 0 }
                    let stream = stream(&random, for: known.isEmpty ? [1] : known)
                    for piece in pieces(of: stream, &random) { worker.send(piece) }
                    if random.once(in: 10) { worker.closeLink() }
                }
                ring.advance(.milliseconds(20))
                while let operation = ring.documents.next() {
                    operation.answer(.failed(DocumentError(.unavailable, "not now")))
                }
                if random.once(in: 4) { clients[Int.random(in: 0..<clients.count, using: &random)].hangUp() }
                ring.run()
            }
            // Past the deadline, and the grace and the kill after it.
            ring.advance(.seconds(16))
            for client in clients {
                #expect(client.isClosed || client.answer?.isWhole == true, "\(client.received); seed \(seed)")
            }
            for worker in ring.processes.workers where worker.isRunning { worker.crash() }
            ring.processes.handler = { $0.end("true") }
            // A function whose workers keep ending is started less often.
            ring.advance(.seconds(70))
            for name in ["call", "page"] {
                let last = try name == "call" ? ring.call(name) : ring.send("GET", GatewayRing.path(name))
                ring.advance(.milliseconds(900))
                #expect(last.answer?.status == 200, "\(name): \(last.received); seed \(seed)")
            }
        }
    }
}
