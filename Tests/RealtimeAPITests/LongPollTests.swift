@testable import RealtimeAPI
import TestSupport
import Testing
import TextFormats

/// Sessions that poll: requests → what is done.
@Suite struct LongPollTests {
    private func lines(_ actions: [LongPollConnection.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .answer(let poll, let script): "\(poll): \(String(decoding: script, as: UTF8.self))"
            case .receive(let message): "receive \(String(decoding: message, as: UTF8.self))"
            case .read(let text): "read \(LongPollConnection.decode(text)?.count ?? -1)"
            case .refuse(let number): "refuse \(number)"
            case .end: "end"
            case .switchTransport: "switch"
            }
        }
    }

    private func started() -> LongPollConnection {
        var polling = LongPollConnection(callback: "7")
        #expect(polling.send(Array(#"{"hello":1}"#.utf8)).isEmpty)
        let script = String(decoding: polling.start(id: "I", password: "P"), as: UTF8.self)
        #expect(
            script
                == #"parent.window["pLPCommand7"]("start","I","P");parent.window["pRTLPCB7"](0,[{"hello":1}]);"#)
        return polling
    }

    /// A message's pieces.
    private func segments(_ text: String, from number: Int, count: Int = 1) -> [LongPollRequest.Segment] {
        let data = Base64.encode(Array(text.utf8)).replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: ".")
        let size = (data.count + count - 1) / count
        return (0..<count).map { index in
            let part = data.dropFirst(index * size).prefix(size)
            return LongPollRequest.Segment(number: number + index, count: count, data: String(part))
        }
    }

    @Test func pollsAreHeldUntilThereIsSomething() {
        var polling = started()
        #expect(polling.poll(1, []) == [])
        #expect(polling.isPolled)
        #expect(lines(polling.send(Array("1".utf8))) == [#"1: parent.window["pRTLPCB7"](1,[1]);"#])
        #expect(!polling.isPolled)
        #expect(polling.send(Array("2".utf8)) == [])
        #expect(polling.send(Array("3".utf8)) == [])
        #expect(polling.waitingBytes == 2)
        #expect(lines(polling.poll(2, [])) == [#"2: parent.window["pRTLPCB7"](2,[2,3]);"#])
        #expect(polling.waitingBytes == 0)
    }

    @Test func aHeldPollEndsInTimeAndWhenAnotherComes() {
        var polling = started()
        _ = polling.poll(1, [])
        #expect(lines(polling.holdEnded(1)) == ["1: "])
        #expect(polling.holdEnded(1) == [])
        _ = polling.poll(2, [])
        #expect(lines(polling.poll(3, segments("x", from: 0))) == ["2: ", "receive x"])
        polling.left(3)
        #expect(!polling.isPolled)
        #expect(polling.send(Array("1".utf8)) == [])
    }

    @Test func piecesComeInAnyOrderAndOnce() {
        var polling = started()
        let pieces = segments(#"{"é":"🛒?>~"}"#, from: 0, count: 3)
        #expect(polling.poll(1, [pieces[2]]) == [])
        #expect(lines(polling.poll(2, [pieces[0], pieces[0]])) == ["1: "])
        #expect(
            lines(polling.poll(3, [pieces[1], pieces[0]] + segments("b", from: 3))) == [
                "2: ", #"receive {"é":"🛒?>~"}"#, "receive b",
            ])
        #expect(lines(polling.poll(4, segments("old", from: 1))) == ["3: "])
    }

    @Test func brokenPiecesEndTheSession() {
        for segment in [
            LongPollRequest.Segment(number: 0, count: 1, data: "§"), .init(number: 0, count: 1, data: "A"),
        ] {
            var polling = started()
            #expect(lines(polling.poll(1, [segment])) == [#"1: parent.window["pLPCommand7"]("close");"#, "end"])
            #expect(polling.isEnded)
        }
        var polling = LongPollConnection(callback: "7", maxMessageBytes: 30)
        _ = polling.start(id: "I", password: "P")
        #expect(lines(polling.poll(1, segments(String(repeating: "x", count: 60), from: 0))).last == "end")
        var early = started()
        let far = (1...1_000).map { LongPollRequest.Segment(number: $0, count: 1, data: "") }
        #expect(lines(early.poll(1, far)).last == "end")
    }

    /// If the session ended, the client would send the message again with each new one.
    @Test(arguments: [1, 3, 10]) func aRequestThatIsTooLargeIsRefusedOnceAllOfItHasCome(count: Int) {
        var polling = LongPollConnection(callback: "7", maxMessageBytes: 60)
        _ = polling.start(id: "I", password: "P")
        let large = #"{"t":"d","d":{"r":12,"a":"p","b":{"p":"a","d":"\#(String(repeating: "x", count: 60))"}}}"#
        let pieces = segments(large, from: 0, count: count)
        for (index, piece) in pieces.dropLast().enumerated() {
            let actions = lines(polling.poll(UInt64(index + 1), [piece]))
            let isDone = actions.contains { $0.hasPrefix("re") || $0 == "end" }
            #expect(!isDone, "\(actions)")
            #expect(polling.heldBytes <= 84)
        }
        #expect(lines(polling.poll(100, Array(pieces.suffix(1)))).last == "refuse 12")
        #expect(polling.heldBytes == 0)
        #expect(lines(polling.poll(101, segments("next", from: count))).last == "receive next")
    }

    @Test func theEndSaysHowManyResponsesThereWere() {
        var polling = started()
        _ = polling.poll(1, [])
        _ = polling.send(Array("1".utf8))
        _ = polling.send(Array("2".utf8))
        #expect(polling.end() == [])
        // The next poll has what waits.
        let rest = #"2: parent.window["pRTLPCB7"](2,[2]);parent.window["pLPCommand7"]("close",2);"#
        #expect(lines(polling.poll(2, [])) == [rest])
        #expect(lines(polling.poll(3, [])) == [#"3: parent.window["pLPCommand7"]("close",2);"#])
        var aborted = started()
        _ = aborted.send(Array("1".utf8))
        #expect(aborted.abort() == [])
        #expect(lines(aborted.poll(2, [])) == [#"2: parent.window["pLPCommand7"]("close");"#])
        var held = started()
        _ = held.poll(1, [])
        #expect(lines(held.end()) == [#"1: parent.window["pLPCommand7"]("close");"#])
        #expect(held.end() == [])
        #expect(held.send(Array("1".utf8)) == [])
    }

    @Test func lineBreaksOfOldBrowsersAreEscaped() {
        var polling = started()
        _ = polling.poll(1, [])
        #expect(
            lines(polling.send(Array("\"a\u{2028}\u{2029}é\u{2027}\"".utf8)))
                == ["1: parent.window[\"pRTLPCB7\"](1,[\"a\\u2028\\u2029é\u{2027}\"]);"])
    }

    @Test(arguments: [false, true]) func aWebSocketTakesOver(confirmsFirst: Bool) {
        var polling = started()
        _ = polling.poll(1, [])
        #expect(polling.offerUpgrade() == true)
        // One at a time.
        #expect(polling.offerUpgrade() == false)
        let end = segments(#"{"t":"c","d":{"t":"n","d":{}}}"#, from: 0)
        let switched = [#"{"t":"c","d":{"t":"n","d":{}}}"#]
        if confirmsFirst {
            #expect(polling.confirmUpgrade() == [])
            #expect(
                lines(polling.poll(2, end)) == [
                    "1: ", #"2: parent.window["pRTLPCB7"](1,[\#(switched[0])]);"#, "switch",
                ])
        } else {
            #expect(lines(polling.poll(2, end)) == ["1: "])
            #expect(
                lines(polling.confirmUpgrade()) == [#"2: parent.window["pRTLPCB7"](1,[\#(switched[0])]);"#, "switch"])
        }
        // A poll that was on its way: the client has everything after response 1.
        #expect(lines(polling.poll(3, [])) == [#"3: parent.window["pLPCommand7"]("close",1);"#])
    }

    /// A push has answered the poll that came with the last message.
    @Test func aWebSocketTakesOverWithoutAPoll() {
        var polling = started()
        #expect(polling.offerUpgrade() == true)
        _ = polling.poll(1, segments(#"{"t":"c","d":{"t":"n","d":{}}}"#, from: 0))
        _ = polling.send(Array("1".utf8))
        _ = polling.send(Array("2".utf8))
        #expect(polling.confirmUpgrade() == [.switchTransport])
        let rest = #"parent.window["pRTLPCB7"](2,[2,{"t":"c","d":{"t":"n","d":{}}}]);"#
        #expect(lines(polling.poll(2, [])) == [#"2: \#(rest)parent.window["pLPCommand7"]("close",2);"#])
    }

    @Test func whatIsBehindALargeMessageWaits() {
        var polling = started()
        let large = String(repeating: "x", count: 100_000)
        var pieces = segments(large, from: 0, count: 3)
        pieces += segments("a", from: 3)
        #expect(lines(polling.poll(1, pieces)) == ["read 100000"])
        #expect(polling.heldBytes > 130_000)
        #expect(lines(polling.poll(2, segments("b", from: 4))) == ["1: "])
        #expect(lines(polling.didRead()) == ["receive a", "receive b"])
        #expect(polling.heldBytes == 0)
        var ended = started()
        _ = ended.poll(1, pieces)
        _ = ended.end()
        #expect(ended.didRead() == [])
        #expect(ended.heldBytes == 0)
    }

    @Test func theClientsPiecesAreCounted() {
        var polling = started()
        _ = polling.poll(1, [.init(number: 5, count: 1, data: "aaaa"), .init(number: 5, count: 1, data: "bb")])
        #expect(polling.heldBytes == 2)
        _ = polling.poll(2, [.init(number: 0, count: 2, data: "cccc")])
        #expect(polling.heldBytes == 6)
        _ = polling.end()
        #expect(polling.heldBytes == 0)
    }

    @Test func whileReadingPausesPollsAreHeld() {
        var polling = started()
        #expect(polling.setReading(false) == [])
        #expect(polling.poll(1, []) == [])
        #expect(polling.poll(2, segments("a", from: 0)).count == 1)
        #expect(lines(polling.poll(3, [])) == ["1: "])
        #expect(lines(polling.setReading(true)) == ["2: "])
        #expect(polling.isPolled)
    }

    @Test func aWebSocketThatClosesEarlyChangesNothing() {
        var polling = started()
        #expect(polling.offerUpgrade() == true)
        _ = polling.confirmUpgrade()
        polling.withdrawUpgrade()
        _ = polling.poll(1, [])
        #expect(lines(polling.send(Array("1".utf8))) == [#"1: parent.window["pRTLPCB7"](1,[1]);"#])
        #expect(polling.offerUpgrade() == true)
    }

    @Test func noWebSocketTakesOverASessionThatHasEnded() {
        var polling = started()
        #expect(polling.offerUpgrade() == true)
        _ = polling.poll(1, segments(#"{"t":"c","d":{"t":"n","d":{}}}"#, from: 0))
        _ = polling.end()
        #expect(polling.confirmUpgrade() == [])
        #expect(polling.offerUpgrade() == false)
    }

    @Test(arguments: [
        ("start=t&ser=1&cb=7&v=5&ns=n", LongPollRequest.start(callback: "7")),
        ("start=t&cb=12&ls=F", .start(callback: "12")),
        ("start=t", .invalid), ("start=t&cb=", .invalid), ("start=t&cb=1);alert(1", .invalid),
        ("start=t&cb=x", .invalid),
        ("id=I&pw=P&ser=9", .poll(id: "I", password: "P", [])),
        (
            "id=I&pw=P&seg0=4&ts0=2&d0=ab.&seg1=5&ts1=2&d1=c",
            .poll(
                id: "I", password: "P",
                [.init(number: 4, count: 2, data: "ab."), .init(number: 5, count: 2, data: "c")])
        ),
        ("id=I&pw=P&seg0=4&ts0=2", .invalid), ("id=I&pw=P&seg0=-1&ts0=2&d0=a", .invalid),
        ("id=I&pw=P&seg0=1&ts0=0&d0=a", .invalid),
        ("id=I&pw=P&dframe=t", .frame), ("id=I&pw=P&disconn=t", .disconnect(id: "I", password: "P")),
        ("id=I", .invalid), ("", .invalid),
    ])
    func requests(query: String, expected: LongPollRequest) throws {
        #expect(LongPollRequest(try #require(URLParameters(query[...]))) == expected)
    }

    /// In any order, and of several values with one name the last.
    @Test func aRequestHasManySegments() throws {
        let count = LongPollRequest.maxSegments
        let pieces = (0..<count).reversed().map { "d\($0)=p\($0)&ts\($0)=\(count)&seg\($0)=\($0)" }
        let query = "id=I&d0=x&pw=P&\(pieces.joined(separator: "&"))"
        let expected = (0..<count).map { LongPollRequest.Segment(number: $0, count: count, data: "p\($0)") }
        #expect(
            LongPollRequest(try #require(URLParameters(query[...]))) == .poll(id: "I", password: "P", expected))
    }
}
