import DocumentModel
@testable import FirestoreAPI
import FirestoreMessages
import Foundation
import NIOCore
import NIOEmbedded
import NIOHPACK
import Sharing
import SwiftProtobuf
import Testing

/// The bytes of gRPC calls.
@Suite struct GRPCTests {
    private func message(_ text: String, flag: UInt8 = 0, length: UInt32? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger(flag)
        buffer.writeInteger(length ?? UInt32(text.utf8.count))
        buffer.writeString(text)
        return buffer
    }

    @Test func messagesArriveInPieces() throws {
        var bytes = message("first")
        bytes.writeImmutableBuffer(message(""))
        bytes.writeImmutableBuffer(message("third"))
        for size in 1...bytes.readableBytes {
            var (rest, reader, found) = (bytes, GRPCMessageReader(), [String]())
            while let piece = rest.readSlice(length: min(size, rest.readableBytes)), piece.readableBytes > 0 {
                reader.append(piece)
                while let message = try reader.next() { found.append(String(buffer: message)) }
            }
            #expect(found == ["first", "", "third"])
            #expect(reader.count == 0)
        }
    }

    @Test func whatIsCompressedOrTooLargeIsRefused() {
        var reader = GRPCMessageReader()
        reader.append(message("x", flag: 1))
        #expect(throws: GRPCMessageReader.Problem.self) { try reader.next() }
        reader = GRPCMessageReader()
        reader.append(message("", length: .max))
        #expect(throws: GRPCMessageReader.Problem.self) { try reader.next() }
        reader = GRPCMessageReader(maxBytes: 5)
        reader.append(message("12345"))
        #expect(throws: Never.self) { try reader.next() }
        reader.append(message("123456"))
        #expect(throws: GRPCMessageReader.Problem.self) { try reader.next() }
    }

    /// Of a message that is too large, it is all that is read.
    @Test func theTargetOfAMessageIsFoundWithoutDecodingIt() throws {
        let addition = FSListenRequest.with { request in
            request.database = "d"
            request.addTarget.targetID = 300
            request.addTarget.documents.documents = ["a", String(repeating: "b", count: 200)]
        }
        let bytes = ByteBuffer(bytes: try addition.serializedBytes() as [UInt8])
        #expect(ListenTargetID.find(in: bytes) == 300)
        for count in 0..<bytes.readableBytes {
            let part = try #require(bytes.getSlice(at: bytes.readerIndex, length: count))
            #expect(ListenTargetID.find(in: part) == nil)
        }
        let removal = FSListenRequest.with { $0.removeTarget = 300 }
        #expect(ListenTargetID.find(in: ByteBuffer(bytes: try removal.serializedBytes() as [UInt8])) == nil)
        #expect(ListenTargetID.find(in: ByteBuffer(repeating: 0xff, count: 100)) == nil)
    }

    @Test func soManyWritesWait() throws {
        var limits = ClientLimits.Write()
        (limits.waiting, limits.waitingBytes) = (2, 100_000)
        let waiting = WaitingMessages(limits)
        // One that is larger than the bound can be handled alone.
        try waiting.add(200_000)
        #expect(throws: DocumentError(.resourceExhausted, "more than 2 writes or 97 KiB wait for their answers")) {
            try waiting.add(1)
        }
        waiting.remove(200_000)
        try waiting.add(1)
        try waiting.add(1)
        #expect(throws: DocumentError.self) { try waiting.add(1) }
    }

    @Test func waitingWritesCountAsTheirClientsMemory() throws {
        let budget = MemoryBudget(total: 8000)
        do {
            let waiting = WaitingMessages(ClientLimits.Write(), memory: budget, address: 1, identify: { nil })
            try waiting.add(3000)
            #expect(throws: DocumentError.self) { try waiting.add(3000) }
            waiting.remove(3000)
            try waiting.add(2000)
            #expect(budget.figures.used == 2000)
        }
        #expect(budget.figures.used == 0)
    }

    @Test func callsAreBoundedForEachAddressAndForAll() {
        var limits = ClientLimits.GRPC()
        (limits.calls, limits.callsPerClient) = (3, 2)
        let open = OpenCalls(limits)
        #expect(open.add(of: 1) && open.add(of: 1) && !open.add(of: 1))
        #expect(open.add(of: 2) && !open.add(of: 3))
        open.remove(of: 1)
        #expect(open.add(of: 3))
    }

    @Test(arguments: [
        ("2H", TimeAmount.hours(2)), ("3M", .minutes(3)), ("15S", .seconds(15)), ("250m", .milliseconds(250)),
        ("7u", .microseconds(7)), ("9n", .nanoseconds(9)), ("99999999S", .seconds(99_999_999)),
    ])
    func timeoutsAreRead(text: String, amount: TimeAmount) { #expect(GRPCTimeout.amount(text) == amount) }

    @Test(arguments: ["", "S", "1", "-1S", "1.5S", "1s", "123456789S"])
    func whatIsNoTimeoutIsIgnored(text: String) { #expect(GRPCTimeout.amount(text) == nil) }

    @Test func statusesAreEncoded() throws {
        #expect(HPACKHeaders.trailers(nil) == ["grpc-status": "0"])
        let trailers = HPACKHeaders.trailers(DocumentError(.notFound, "nein: 100 % é\n"))
        #expect(trailers.first(name: "grpc-status") == "5")
        #expect(trailers.first(name: "grpc-message") == "nein: 100 %25 %C3%A9%0A")
        let details = try #require(Data(base64Encoded: trailers.first(name: "grpc-status-details-bin") ?? ""))
        let status = try FSStatus(serializedBytes: details)
        #expect(status.code == 5)
        #expect(status.message == "nein: 100 % é\n")
    }

    // MARK: Protocols

    /// - Returns: whether it was taken for HTTP/2, and what went on to the next handler.
    private func detect(_ pieces: [String]) throws -> (isHTTP2: Bool?, passed: String) {
        var isHTTP2: Bool?
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(
            ProtocolDetector {
                isHTTP2 = $0
            } onClose: {
            })
        var passed = ""
        for piece in pieces {
            try channel.writeInbound(ByteBuffer(string: piece))
            while let bytes = try channel.readInbound(as: ByteBuffer.self) { passed += String(buffer: bytes) }
        }
        _ = try? channel.finish()
        return (isHTTP2, passed)
    }

    @Test func theFirstBytesTellTheProtocol() throws {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for (pieces, isHTTP2) in [
            ([preface], true), (preface.map(String.init), true), (["GET / HTTP/1.1\r\n"], false),
            (["P", "OST / "], false),
            (["PRI", "NT / HTTP/1.1"], false), (["PR"], nil), ([], nil),
        ] as [([String], Bool?)] {
            let seen = try detect(pieces)
            #expect(seen.isHTTP2 == isHTTP2)
            #expect(seen.passed == (isHTTP2 == nil ? "" : pieces.joined()))
        }
    }

    @Test(arguments: [true, false]) func aConnectionThatHasNotBegunIsLetGo(clientLeaves: Bool) throws {
        var isOver = false
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(
            ProtocolDetector { _ in
            } onClose: {
                isOver = true
            })
        try channel.connect(to: try SocketAddress(unixDomainSocketPath: "/none")).wait()
        try channel.writeInbound(ByteBuffer(string: "PRI"))
        if clientLeaves {
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        #expect(isOver && !channel.isActive)
        _ = try? channel.finish()
    }

    // MARK: Messages

    @Test func valuesAreTheSameBothWays() throws {
        let database = DatabaseID(project: "demo")
        let (reader, writer) = (MessageReader(database: database), MessageWriter(database: database))
        let values: [Value] = [
            .null, .boolean(true), .integer(.min), .double(-0.0), .timestamp(Timestamp(seconds: 1, nanoseconds: 5000)),
            .string("é🛒"), .bytes([0, 255]), .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
            .reference(DocumentName(database: database, path: try DocumentPath("a/b"))),
            .array([.integer(1), .map(["k": .array([])])]), .map([:]),
        ]
        for value in values { #expect(try reader.value(writer.value(value)) == value) }
        #expect(throws: DocumentError.self) { try reader.value(FSValue()) }
    }

    /// As over REST: what a mask costs is counted nowhere else.
    @Test func aMaskHasABound() throws {
        let reader = MessageReader(database: DatabaseID(project: "demo"))
        func write(_ paths: Int) -> FSWrite {
            FSWrite.with {
                $0.update.name = "projects/demo/databases/(default)/documents/a/b"
                $0.updateMask.fieldPaths = Array(repeating: "a", count: paths)
            }
        }
        guard case .update(_, let mask)? = try reader.writes([write(50_000)]).first?.operation else {
            Issue.record("it isn't an update with a mask")
            return
        }
        #expect(mask.count == 50_000)
        let tooMany = DocumentError.invalidArgument("a mask has at most 50000 paths, not 50001")
        #expect(throws: tooMany) { try reader.writes([write(50_001)]) }
        #expect(throws: tooMany) { try MessageReader.fieldMask(write(50_001).updateMask) }
    }

    /// A field of a message that has a length.
    private func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        var (bytes, length) = ([number << 3 | 2], content.count)
        while length > 127 {
            bytes.append(UInt8(length & 127) | 128)
            length >>= 7
        }
        bytes.append(UInt8(length))
        return bytes + content
    }

    private func refusal<Request: SwiftProtobuf.Message>(_ type: Request.Type, _ bytes: [UInt8]) -> DocumentError? {
        do throws(DocumentError) {
            let _: Request = try GRPCCall.decode(ByteBuffer(bytes: bytes))
            return nil
        } catch {
            return error
        }
    }

    /// Each empty part takes two bytes here, and up to a hundred times as many once it is decoded.
    @Test func aMessageIsntDecodedIfItTakesTooMuchMemory() {
        func many(_ number: UInt8) -> [UInt8] {
            (0..<200_000).flatMap { _ in field(number, []) }
        }
        let update = field(1, field(2, field(2, field(9, many(1)))))
        func query(_ parts: [UInt8]) -> [UInt8] { field(2, parts) }
        let document = field(2, field(2, field(6, many(1))))
        #expect(refusal(FSCommitRequest.self, many(2)) == DecodedSize.tooMany)
        #expect(refusal(FSCommitRequest.self, field(2, update)) == DecodedSize.tooMany)
        #expect(refusal(FSCommitRequest.self, field(2, many(7))) == DecodedSize.tooMany)
        #expect(refusal(FSCommitRequest.self, field(2, field(6, many(2)))) == DecodedSize.tooMany)
        #expect(refusal(FSBatchWriteRequest.self, many(2)) == DecodedSize.tooMany)
        #expect(refusal(FSWriteRequest.self, many(3)) == DecodedSize.tooMany)
        #expect(refusal(FSCreateDocumentRequest.self, field(4, document)) == DecodedSize.tooMany)
        #expect(refusal(FSUpdateDocumentRequest.self, update) == DecodedSize.tooMany)
        #expect(refusal(FSRunQueryRequest.self, query(field(3, field(1, many(2))))) == DecodedSize.tooMany)
        #expect(refusal(FSPartitionQueryRequest.self, query(field(8, many(1)))) == DecodedSize.tooMany)
        #expect(refusal(FSRunAggregationQueryRequest.self, query(many(3))) == DecodedSize.tooMany)
        #expect(refusal(FSListenRequest.self, field(2, field(2, query(many(4))))) == DecodedSize.tooMany)
    }

    /// The decoder looks for each name among those before it.
    @Test func aMessageIsntDecodedIfANameTakesLongToCompare() {
        func document(_ marks: Int) -> [UInt8] {
            let name = Array(String(repeating: "\u{301}", count: marks).utf8)
            return field(1, field(2, field(1, name) + field(2, field(6, []))))
        }
        #expect(refusal(FSUpdateDocumentRequest.self, document(1000)) == nil)
        #expect(refusal(FSUpdateDocumentRequest.self, document(1001))?.message.contains("combining marks") == true)
    }

    /// Of two that Swift treats as equal, the decoder would keep one, and lose the other's value.
    @Test func aMessageIsntDecodedIfANameIsNotInTheNormalForm() {
        func document(_ names: [String]) -> [UInt8] {
            field(1, names.flatMap { field(2, field(1, Array($0.utf8)) + field(2, field(6, []))) })
        }
        #expect(refusal(FSUpdateDocumentRequest.self, document(["\u{e9}", "z"])) == nil)
        let refused = refusal(FSUpdateDocumentRequest.self, document(["\u{e9}", "e\u{301}"]))
        #expect(refused?.code == .invalidArgument)
        #expect(refused?.message.contains("NFC") == true)
    }

    /// Headers are compared on the event loop.
    @Test func headersThatTakeLongToCompareMeanNothing() {
        func headers(_ pairs: Int) -> CallHeaders {
            let value = "b" + String(repeating: "\u{301}\u{323}", count: pairs)
            return CallHeaders(HPACKHeaders([(":method", "POST"), ("content-type", value), ("authorization", value)]))
        }
        #expect(headers(500).authorization != nil)
        #expect(!headers(500).contentType.isEmpty)
        #expect(headers(501).authorization == nil)
        #expect(headers(501).contentType.isEmpty)
        #expect(headers(501).method == "POST")
    }

    @Test func largeMessagesAreDecoded() throws {
        var document = FSDocument()
        document.name = "projects/demo/databases/(default)/documents/a/b"
        let null = FSValue.with { $0.nullValue = .nullValue }
        document.fields["nulls"] = FSValue.with { $0.arrayValue.values = Array(repeating: null, count: 300_000) }
        for index in 0..<1000 {
            let number = FSValue.with { $0.integerValue = Int64(index) }
            document.fields["f\(index)"] = FSValue.with { $0.mapValue.fields = ["a": number] }
        }
        let update = FSWrite.with {
            $0.update = document
            for index in 0..<500 {
                var transform = FSDocumentTransform.FieldTransform()
                transform.fieldPath = "t\(index)"
                transform.increment.integerValue = 1
                $0.updateTransforms.append(transform)
            }
        }
        let deletion = FSWrite.with { $0.delete = "projects/demo/databases/(default)/documents/a/c" }
        let request = FSCommitRequest.with { $0.writes = [update] + Array(repeating: deletion, count: 10_000) }
        let bytes: [UInt8] = try request.serializedBytes()
        let decoded: FSCommitRequest = try GRPCCall.decode(ByteBuffer(bytes: bytes))
        #expect(decoded == request)
    }

    @Test func resumeTokensArePositions() {
        let position = Timestamp(microseconds: 1_795_580_608_916_123)
        #expect(ResumeToken.position(of: ResumeToken.bytes(of: position)) == position)
        #expect(ResumeToken.position(of: []) == nil)
        #expect(ResumeToken.position(of: [2, 0, 0, 0, 0, 0, 0, 0, 0]) == nil)
    }
}
