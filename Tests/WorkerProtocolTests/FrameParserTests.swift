import DocumentModel
@testable import WorkerProtocol
import NIOCore
import Testing

@Suite struct FrameParserTests {
    private func bytes(_ write: (inout ByteBuffer) -> Void) -> ByteBuffer {
        var buffer = ByteBuffer()
        write(&buffer)
        return buffer
    }

    /// A link may be idle for long after a large frame, and a host has many links.
    @Test(arguments: [0, 3]) func theMemoryOfALargeFrameIsNotKept(bytesOfTheNext: Int) throws {
        var bytes = ByteBuffer()
        bytes.writeFrame(.result, invocation: 1) { $0.writeRepeatingByte(0, count: 1 << 20) }
        bytes.writeFrame(.result, invocation: 2) { $0.writeString("1") }
        let second = Frame.headerLength + 4 + 1
        let slice = bytes.readSlice(length: bytes.readableBytes - second + bytesOfTheNext)
        var first = try #require(slice)
        var parser = FrameParser()
        parser.append(&first)
        let large = try parser.next()
        #expect(large?.payload.readableBytes == 1 << 20)
        #expect(parser.storage < 1024)
        parser.append(&bytes)
        let small = try parser.next()
        #expect(small?.invocation == 2)
    }

    @Test func framesSurviveAnyCut() throws {
        let stream = bytes {
            $0.writeFrame(.invoke, invocation: 7) { $0.writeString("hello") }
            $0.writeFrame(.credit, invocation: 8) { $0.writeInteger(42 as UInt32) }
            $0.writeFrame(.ready)
        }
        for cut in 0...stream.readableBytes {
            var parser = FrameParser()
            var frames: [Frame] = []
            for part in [
                stream.getSlice(at: 0, length: cut), stream.getSlice(at: cut, length: stream.readableBytes - cut),
            ] {
                var part = try #require(part)
                parser.append(&part)
                while let frame = try parser.next() { frames.append(frame) }
            }
            #expect(frames.map(\.kind) == [.invoke, .credit, .ready])
            #expect(frames.map(\.invocation) == [7, 8, 0])
            #expect(String(buffer: frames[0].payload) == "hello")
        }
    }

    @Test(arguments: [0, 8, UInt32(Frame.maxLength) + 1, .max])
    func lyingLengthIsRefusedBeforeAnythingIsKept(length: UInt32) {
        var parser = FrameParser()
        var stream = bytes { $0.writeInteger(length) }
        parser.append(&stream)
        #expect(throws: ProtocolViolation.self) { _ = try parser.next() }
    }

    @Test func aLineOfTheLogIsRefusedBeforeItIsKept() throws {
        for length in [LogLine.maxFrame, LogLine.maxFrame + 1] {
            var parser = FrameParser()
            var stream = bytes {
                $0.writeInteger(UInt32(length))
                $0.writeInteger(Frame.Kind.log.rawValue)
            }
            parser.append(&stream)
            if length > LogLine.maxFrame {
                #expect(throws: ProtocolViolation.self) { _ = try parser.next() }
            } else {
                #expect(try parser.next() == nil)
            }
        }
    }

    @Test(arguments: ["x", "é", "语", "😀", "a😀"])
    func aLineIsCutBetweenCharactersToWhatItMayBe(piece: String) throws {
        let long = String(repeating: piece, count: 1_000_000)
        let cut = LogLine.cut(long)
        #expect(LogLine.cut(cut) == cut && cut.utf8.count <= LogLine.maxText && !cut.contains("\u{FFFD}"))
        let beginning = try #require(LogLine.beginning(ofCut: cut))
        #expect(long.utf8.starts(with: beginning) && beginning.count > LogLine.maxText - 7)
        #expect(LogLine.beginning(ofCut: piece + "…") == nil)
        var metadata: [String: LogValue] = [:]
        for number in 0..<1000 { metadata["\(1000 + number)"] = .text(long) }
        let line = LogLine(level: 2, label: long, message: long, metadata: metadata).bounded
        let frame = bytes { $0.writeFrame(.log) { line.write(to: &$0) } }
        #expect(frame.readableBytes < LogLine.maxFrame)
        #expect(line.message == cut && line.metadata["1000"] == .text(cut) && line.metadata["1999"] == nil)
        #expect(LogLine(level: 2, label: "a", message: "b", metadata: ["c": "d"]).bounded.metadata == ["c": "d"])
    }

    @Test func metadataThatIsNestedTooDeeplyIsRefused() throws {
        for (depth, isValid) in [(LogValue.maxDepth, true), (LogValue.maxDepth + 1, false)] {
            let value = (0..<depth).reduce("x" as LogValue) { value, _ in .list([value]) }
            let line = LogLine(level: 2, label: "f", message: "m", metadata: ["k": value])
            var buffer = bytes { line.write(to: &$0) }
            if isValid {
                #expect(try LogLine(from: &buffer) == line)
            } else {
                #expect(throws: ProtocolViolation.self) { _ = try LogLine(from: &buffer) }
            }
        }
    }

    @Test func unknownKindIsRefused() {
        var parser = FrameParser()
        var stream = bytes {
            $0.writeInteger(9 as UInt32)
            $0.writeInteger(200 as UInt8)
            $0.writeInteger(1 as UInt64)
        }
        parser.append(&stream)
        #expect(throws: ProtocolViolation("unknown frame kind 200")) { _ = try parser.next() }
    }

    @Test func innerLengthsAreCheckedAgainstTheFrame() {
        var payload = bytes {
            $0.writeInteger(1_000_000 as UInt32)
            $0.writeString("short")
        }
        #expect(throws: ProtocolViolation.self) { _ = try payload.readText() }
    }

    @Test func headRoundTrips() throws {
        var head = InvocationHead(
            executionID: "abc", timeLeft: 1234, auth: .init(id: "ada", claims: ByteBuffer(string: "{}")), app: nil,
            streams: true, method: "PUT", target: "/rest?x=1",
            headers: HeaderBlock([(name: "Host", value: "shop.example"), (name: "X-Empty", value: "")]),
            address: IPAddress("2001:db8::1"))
        head.hasHostedKey = true
        var buffer = bytes { head.write(to: &$0) }
        #expect(try InvocationHead(from: &buffer) == head)
        #expect(buffer.readableBytes == 0)
        #expect(head.headers.pairs.map(\.name) == ["Host", "X-Empty"])
    }

    @Test func truncatedHeadIsRefusedAtEveryLength() {
        let head = InvocationHead(
            executionID: "abc", timeLeft: 1, auth: .init(id: "ada", claims: ByteBuffer(string: "{}")),
            headers: HeaderBlock([(name: "Host", value: "shop.example")]), address: .loopback)
        let whole = bytes { head.write(to: &$0) }
        for length in 0..<whole.readableBytes {
            var part = whole.getSlice(at: 0, length: length) ?? ByteBuffer()
            #expect(throws: ProtocolViolation.self) { _ = try InvocationHead(from: &part) }
        }
    }

    @Test func failureAndLogLineRoundTrip() throws {
        let failure = InvocationFailure(
            code: .failedPrecondition, message: "no", details: ByteBuffer(string: "{\"a\":1}"), isPermanent: true)
        var first = bytes { failure.write(to: &$0) }
        #expect(try InvocationFailure(from: &first) == failure)
        let typed = InvocationFailure(code: .internal, message: "no", errorType: "Broken")
        var third = bytes { typed.write(to: &$0) }
        #expect(try InvocationFailure(from: &third) == typed)
        let order: LogValue = .members(["id": "7", "items": .list(["a", .list([]), .number(2.5)])])
        let line = LogLine(level: 3, label: "shop", message: "sold", metadata: ["count": "2", "order": order])
        var second = bytes { line.write(to: &$0) }
        #expect(try LogLine(from: &second) == line)
    }
}
