import CFunctionsSystem
import NIOCore
@testable import RealtimeAPI
import RealtimeModel
import TestSupport
import Testing

/// Messages in pieces, both ways.
@Suite struct FrameTests {
    private func receive(_ frames: [String], max: Int = 1_000) -> [String] {
        var assembler = FrameAssembler(maxMessageBytes: max)
        return frames.map { frame in
            switch assembler.receive(ByteBuffer(string: frame)) {
            case .incomplete: "…"
            case .keepAlive: "alive"
            case .message(let message): String(buffer: message)
            case .tooLarge(let request): "too large: \(request.map { "\($0)" } ?? "-")"
            case .invalid(let problem): "\(problem)"
            }
        }
    }

    @Test(arguments: [
        (["{}"], ["{}"]),
        (["0", "{}"], ["alive", "{}"]),
        (["00", "000000"], ["alive", "alive"]),
        (["2", "{\"a\"", ":1}", "{}"], ["…", "…", "{\"a\":1}", "{}"]),
        (["1", "{}"], ["…", "{}"]),
        // Within a message a piece may be anything.
        (["3", "1", "0", "2"], ["…", "…", "…", "102"]),
        (["+2", "2 ", "1e3"], ["+2", "2 ", "1e3"]),
        (["1234567"], ["1234567"]),
        ([""], ["emptyFrame"]),
        (["2", ""], ["…", "emptyFrame"]),
    ])
    func piecesBecomeMessages(frames: [String], expected: [String]) { #expect(receive(frames) == expected) }

    @Test func messagesAreBounded() {
        #expect(receive([String(repeating: "x", count: 1_001)]) == ["too large: -"])
        #expect(receive([String(repeating: "x", count: 1_000)]) == [String(repeating: "x", count: 1_000)])
        let half = String(repeating: "x", count: 600)
        #expect(receive(["3", half, half, "x"]) == ["…", "…", "…", "too large: -"])
        let frames = Array(repeating: half, count: 27)
        #expect(receive(["999999"] + frames).last == "messageTooLarge")
        #expect(receive(["999999"] + frames.dropLast()).last == "…")
    }

    @Test(arguments: [
        (#"{"t":"d","d":{"r":17,"a":"p","b":{"p":"x","d":"#, "}}}", "17"),
        (#"{ "d" : { "b":{"r":1,"d":{"r":2,"x":"\"r\":3"}, "x":"#, #"}, "a":"p", "r" : 4 } , "t":"d" }"#, "4"),
        (#"{"t":"d","d":{"a":"p","r":5,"b":["#, "]}}", "5"),
        (#"{"t":"d","r":6,"d":{"a":"r","b":{"r":7,"d":"#, "}}}", "-"),
        (#"{"t":"d","d":{"r":"8","b":"#, "}}", "-"),
        (#"{"t":"d","d":{"r":99999999999999999999999,"b":"#, "}}", "999999999999999999"),
        (#"]]]]{"d":{"r":9,"#, "}}", "-"),
    ])
    func theRequestOfALargeMessageIsFound(before: String, after: String, number: String) {
        let message = before + "\"" + String(repeating: "y\\\"{", count: 300) + "\"" + after
        #expect(receive([message]) == ["too large: \(number)"])
        let pieces = message.map { String($0) }
        #expect(receive(["\(pieces.count)"] + pieces).last == "too large: \(number)")
    }

    // MARK: To clients

    /// The texts of the frames.
    private func texts(_ frames: ByteBuffer) throws -> [String] {
        var frames = frames
        var texts: [String] = []
        while let first = frames.readInteger(as: UInt8.self), let short = frames.readInteger(as: UInt8.self) {
            #expect(first == 0x81)
            let length: Int? =
                switch short {
                case 126: frames.readInteger(as: UInt16.self).map { Int($0) }
                case 127: frames.readInteger(as: UInt64.self).map { Int($0) }
                default: Int(short)
                }
            let text = frames.readBytes(length: try #require(length)) ?? []
            #expect(text.count == length)
            texts.append(try #require(String(validating: text, as: UTF8.self)))
        }
        return texts
    }

    @Test(arguments: [1, 125, 126, 16_384]) func shortMessagesAreOneFrame(units: Int) throws {
        let text = String(repeating: "é", count: units)
        #expect(try texts(FramePieces.frames(of: Array(text.utf8))) == [text])
    }

    @Test(arguments: ["x", "é", "鍵", "🛒", "x🛒", "🛒é"], [16_385, 32_768, 100_001, 1_000_000])
    func longMessagesArePieces(character: String, units: Int) throws {
        let text = String(repeating: character, count: units / character.utf16.count + 1)
        let frames = try texts(FramePieces.frames(of: Array(text.utf8)))
        #expect(Int(try #require(frames.first)) == frames.count - 1)
        #expect(frames.dropFirst().joined() == text)
        #expect(frames.dropFirst().allSatisfy { (1...16_384).contains($0.utf16.count) })
    }

    @Test(arguments: [(16_384, nil), (16_385, "2"), (163_815_617, "9999"), (268_435_456, "9999")])
    func thereAreAtMostFourDigitsOfPieces(units: Int, number: String?) throws {
        var frames = ByteBuffer()
        FramePieces(units: units).begin(&frames)
        #expect(try texts(frames).first == number)
    }

    /// Its text is encoded once, and each tag follows it.
    @Test(arguments: ["x", "🛒é"], [1, 16_300, 16_384, 40_000])
    func aPushHasTheTagOfEachListen(character: String, units: Int) throws {
        let text = String(repeating: character, count: units / character.utf16.count + 1)
        let push = RealtimePush(try RealtimePath("a"), .put(RealtimeNode(.string(text))))
        for tag in [nil, 1, 7, 1, 1_234_567, nil, 7] as [Int64?] {
            let end = tag.map { #","t":\#($0)"# } ?? ""
            let message = #"{"t":"d","d":{"a":"d","b":{"p":"a","d":"\#(text)"\#(end)}}}"#
            #expect(push.message(tag: tag) == Array(message.utf8))
            #expect(push.frames(tag: tag) == FramePieces.frames(of: Array(message.utf8)))
            #expect(push.frameBytes(tag: tag) == push.frames(tag: tag).readableBytes)
        }
    }

    /// Many sessions that poll may be sent one push.
    @Test func aPushIsEncodedOnceForSessionsThatPoll() throws {
        let changes = try (0..<100).map { number in
            RealtimeChange(RealtimeTarget(try RealtimePath("k\(number)")), RealtimeNode(1))
        }
        let push = RealtimePush(RealtimePath.root, .merge(changes))
        /// How many nodes are encoded.
        func encoded(_ body: () -> Void) -> Int32 {
            functions_begin_long_work()
            defer { functions_end_long_work() }
            let start = functions_steps_left()
            body()
            return start - functions_steps_left()
        }
        #expect(encoded { _ = push.message(tag: nil) } == 100)
        for tag in [nil, 7, 8] as [Int64?] {
            #expect(encoded { _ = push.message(tag: tag) } == 0)
            #expect(encoded { _ = push.frames(tag: tag) } == 0)
        }
    }

    @Test func partsMakeTheSameFrames() async {
        await FuzzRounds.run("the parts of a message", count: 50) { random, seed in
            let characters = (0..<Int.random(in: 1...60_000, using: &random)).map { _ in
                random.pick(["a", "é", "鍵", "🛒"])
            }
            let message = Array(characters.joined().utf8)
            var pieces = FramePieces(units: message.withUnsafeBytes { UTF16Units.count($0) })
            var frames = ByteBuffer()
            pieces.begin(&frames)
            var rest = message[...]
            while !rest.isEmpty {
                // Parts may even end within characters.
                let part = rest.prefix(Int.random(in: 1...20_000, using: &random))
                rest = rest.dropFirst(part.count)
                Array(part).withUnsafeBytes { pieces.append($0, to: &frames) }
            }
            pieces.end(&frames)
            #expect(frames == FramePieces.frames(of: message), "seed \(seed)")
        }
    }
}
