import DocumentModel
@testable import FirestoreAPI
import NIOCore
import NIOEmbedded
import Sharing
import Synchronization
import Testing

/// What sessions of WebChannel send and receive.
@Suite struct WebChannelStateTests {
    /// What a back channel's answer has until it waits or ends.
    private func answer(_ state: inout WebChannelState, _ id: UInt64) -> [String] {
        var texts: [String] = []
        while true {
            switch state.next(for: id) {
            case .chunk(let chunk): texts.append(String(decoding: chunk, as: UTF8.self))
            case .nothing: return texts
            case .end: return texts + ["end"]
            }
        }
    }

    private func open(
        _ state: inout WebChannelState, _ id: UInt64, _ isBuffered: Bool, _ acknowledged: Int
    ) -> [String] {
        state.acknowledge(acknowledged)
        state.open(id, isBuffered: isBuffered)
        return answer(&state, id)
    }

    private func message(_ text: String) -> [UInt8] { Array("[\(text)]".utf8) }

    @Test func messagesAreNumberedAndFramed() {
        var state = WebChannelState()
        state.send([message("1"), message("2")])
        #expect(open(&state, 1, false, 0) == ["17\n[[1,[1]],[2,[2]]]"])
        state.send([message("3")])
        #expect(answer(&state, 1) == ["9\n[[3,[3]]]"])
        // The length counts UTF-16 units.
        state.send([message("\"é🛒\"")])
        #expect(answer(&state, 1) == ["13\n[[4,[\"é🛒\"]]]"])
    }

    @Test func whatIsNotAcknowledgedIsSentAgain() {
        var state = WebChannelState()
        state.send([message("1"), message("2"), message("3")])
        #expect(open(&state, 1, true, 0).last == "end")
        #expect(open(&state, 2, true, 2) == ["9\n[[3,[3]]]", "end"])
        #expect(open(&state, 3, true, 3) == ["14\n[[4,[\"noop\"]]]"])
        #expect(state.unacknowledgedBytes == 8)
        // A noop doesn't end a buffered answer; a message does.
        state.send([message("5")])
        #expect(answer(&state, 3) == ["9\n[[5,[5]]]", "end"])
        #expect(!state.hasBackChannel)
    }

    /// Behind a proxy that holds answers back, the client sees nothing of it until then, and takes it for dead after
    /// 45 s.
    @Test func aBufferedAnswerEndsInTimeThoughNothingHappens() {
        var state = WebChannelState()
        #expect(open(&state, 1, true, 0) == ["14\n[[1,[\"noop\"]]]"])
        state.endQuietly(1)
        #expect(answer(&state, 1) == ["14\n[[2,[\"noop\"]]]", "end"])
        // One that isn't held back goes on.
        #expect(open(&state, 2, false, 2) == ["14\n[[3,[\"noop\"]]]"])
        state.endQuietly(2)
        #expect(answer(&state, 2).isEmpty)
        #expect(open(&state, 3, true, 3) == ["14\n[[4,[\"noop\"]]]"])
        // Not the open one.
        state.endQuietly(1)
        #expect(answer(&state, 3).isEmpty)
    }

    @Test func aSecondBackChannelEndsTheFirst() {
        var state = WebChannelState()
        _ = open(&state, 1, false, 0)
        _ = open(&state, 2, false, 1)
        #expect(answer(&state, 1) == ["end"])
        state.closed(1)
        #expect(state.hasBackChannel)
        state.closed(2)
        #expect(!state.hasBackChannel && !state.isDone)
    }

    /// A host that stops waits for it: the client would send again the writes whose answers it lacks.
    @Test func whatABackChannelMayNotHaveReceivedIsStillToBeSent() {
        var state = WebChannelState()
        state.send([message("1")])
        state.finish()
        state.open(1, isBuffered: false)
        let begun = state.next(for: 1)
        #expect(begun == .chunk(Array("9\n[[1,[1]]]".utf8)))
        state.closed(1)
        #expect(!state.hasSentAll)
        #expect(open(&state, 2, false, 0) == ["9\n[[1,[1]]]", "end"])
        state.closed(2)
        #expect(state.hasSentAll)
    }

    /// Only a new back channel acknowledges.
    @Test func aBackChannelEndsOnceItHasSentMuch() {
        var limits = ClientLimits.WebChannel()
        (limits.backChannel, limits.unacknowledged) = (1000, 4000)
        var state = WebChannelState(limits)
        _ = open(&state, 1, false, 0)
        let large = message(String(repeating: "1", count: limits.backChannel))
        state.send([message("1")])
        #expect(answer(&state, 1).last != "end")
        state.send([large])
        #expect(answer(&state, 1).last == "end")
        for _ in 0..<4 { state.send([large]) }
        #expect(!state.hasRoom)
        // One of them at a time, however many wait.
        let texts = open(&state, 2, false, 3)
        #expect(texts.count == 2 && texts[0].utf8.count < 2 * limits.backChannel && texts[1] == "end")
        _ = open(&state, 3, false, 7)
        #expect(state.hasRoom)
    }

    /// An idle client is shown that its session lives, one that has something to take isn't.
    @Test func aQuietBackChannelIsKeptAlive() {
        var state = WebChannelState()
        state.keepAlive()
        #expect(state.lastNumber == 0)
        #expect(open(&state, 1, false, 0) == ["14\n[[1,[\"noop\"]]]"])
        state.keepAlive()
        #expect(answer(&state, 1) == ["14\n[[2,[\"noop\"]]]"])
        state.send([message("3")])
        state.keepAlive()
        #expect(answer(&state, 1) == ["9\n[[3,[3]]]"])
    }

    /// What is being sent counts for each back channel whose client takes nothing, however many it opens.
    @Test func unreadBackChannelsCountAgainstTheMemoryOfAnswers() throws {
        let budget = MemoryBudget(total: 4 << 20)
        let session = WebChannelSession(
            id: "s", owner: 1, requester: Requester(.admin), limits: .init(), answers: budget, holder: .host)
        session.connect(OneMessage(bytes: 700_000))
        session.pump()
        var connections: [EmbeddedChannel] = []
        for _ in 0..<10 {
            connections.append(EmbeddedChannel())
            guard let last = connections.last,
                let (id, _) = session.open(isBuffered: false, acknowledged: 0, on: last)
            else { break }
            _ = session.next(for: id)
        }
        #expect(connections.count < 8)
        #expect(budget.figures.peak > 3 << 20)
        for connection in connections { _ = try? connection.finish() }
        #expect(budget.figures.used == 0)
    }

    /// A stream that has one large message.
    private final class OneMessage: StreamEndpoint {
        private let bytes: Mutex<Int>

        init(bytes: Int) { self.bytes = Mutex(bytes) }

        func take() -> (messages: [[UInt8]], isLast: Bool) {
            let bytes = bytes.withLock { bytes in
                defer { bytes = 0 }
                return bytes
            }
            return (bytes == 0 ? [] : [[UInt8](repeating: UInt8(ascii: "1"), count: bytes)], false)
        }

        func receive(_ text: [UInt8]) {}
        func decideAgain() {}
        func refresh() {}
        func fail(_ error: DocumentError) {}
        func close() {}
    }

    /// The SDK would take a back channel for dead on which a large message takes more than 6 s, and receive all of it
    /// again.
    @Test func aForwardChannelsAnswerHasTheBytesOnTheirWay() {
        let session = WebChannelSession(id: "s", owner: 1, requester: Requester(.admin), limits: .init())
        session.connect(OneMessage(bytes: 40_000))
        session.pump()
        func answer(received: Int) -> String? {
            session.receive([], received: received).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(answer(received: 0) == "11\n[0,1,40000]")
        #expect(answer(received: 1) == "7\n[0,1,0]")
    }

    /// After which the SDK waits for a time. It would begin again at once if the session ended.
    @Test func whatIsTooMuchForTheMemoryOfAnswersEndsTheStreamWithAnError() throws {
        let budget = MemoryBudget(total: 4 << 20)
        let session = WebChannelSession(
            id: "s", owner: 1, requester: Requester(.admin), limits: .init(), answers: budget, holder: .host)
        let connection = EmbeddedChannel()
        session.connect(TooLargeMessage(bytes: 5 << 20))
        session.pump()
        var sent = ""
        if let (id, _) = session.open(isBuffered: false, acknowledged: 0, on: connection),
            case .chunk(let chunk) = session.next(for: id)
        {
            sent = String(decoding: chunk, as: UTF8.self)
        }
        #expect(sent.contains("[[1,RESOURCE_EXHAUSTED: "))
        #expect(budget.figures.used == 0)
        _ = try connection.finish()
    }

    /// A stream that has one message until it fails.
    private final class TooLargeMessage: StreamEndpoint {
        private let ready: Mutex<[[UInt8]]>

        init(bytes: Int) { ready = Mutex([[UInt8](repeating: UInt8(ascii: "1"), count: bytes)]) }

        func take() -> (messages: [[UInt8]], isLast: Bool) {
            let messages = ready.withLock { ready in
                defer { ready = [] }
                return ready
            }
            return (messages, false)
        }

        func fail(_ error: DocumentError) { ready.withLock { $0 = [Array(error.description.utf8)] } }
        func receive(_ text: [UInt8]) {}
        func decideAgain() {}
        func refresh() {}
        func close() {}
    }

    /// The client would send the writes again, though they are done: an increment would count twice.
    @Test func answersToWritesAreSentThoughTheMemoryOfAnswersIsFull() throws {
        let budget = MemoryBudget(total: 4 << 20)
        let session = WebChannelSession(
            id: "s", owner: 1, requester: Requester(.admin), limits: .init(), answers: budget, holder: .host)
        let connection = EmbeddedChannel()
        let answers = WriteAnswers()
        session.connect(answers)
        func open() throws -> UInt64 {
            let backChannel = session.open(isBuffered: false, acknowledged: 0, on: connection)
            return try #require(backChannel?.id)
        }
        func received(_ id: UInt64) -> (ones: Int, text: String) {
            var text = ""
            while case .chunk(let chunk) = session.next(for: id) { text += String(decoding: chunk, as: UTF8.self) }
            return (text.utf8.count { $0 == UInt8(ascii: "1") }, text)
        }
        answers.add(bytes: 60_000)
        session.pump()
        let first = try open()
        #expect(received(first).ones >= 60_000)
        // Another has it.
        #expect(budget.take(4 << 20, for: .host))
        answers.add(bytes: 10_000)
        session.pump()
        let last = received(first)
        #expect(last.ones >= 10_000 && last.text.contains("RESOURCE_EXHAUSTED"))
        #expect(session.receive([]) != nil)
        // All of it for another back channel has no room yet.
        let second = try open()
        #expect(session.next(for: second) == .end)
        session.closed(second)
        budget.release(4 << 20, of: .host)
        let third = try open()
        #expect(received(third).ones >= 70_000)
        session.terminate()
        _ = try connection.finish()
    }

    /// A host that stops would close the connection, and the client send a write again that is done.
    @Test func anAnswerThatIsHeldBackIsNotTakenForSent() throws {
        let budget = MemoryBudget(total: 4 << 20)
        let session = WebChannelSession(
            id: "s", owner: 1, requester: Requester(.admin), limits: .init(), answers: budget, holder: .host)
        let connection = EmbeddedChannel()
        let answers = WriteAnswers(endsSession: true)
        session.connect(answers)
        func open() throws -> UInt64 {
            let backChannel = session.open(isBuffered: false, acknowledged: 0, on: connection)
            return try #require(backChannel?.id)
        }
        // Another has it.
        #expect(budget.take(4 << 20, for: .host))
        answers.add(bytes: 70_000)
        let hasEnded = Mutex(false)
        let waits = session.end(DocumentError(.unavailable, "the host stops")) { hasEnded.withLock { $0 = true } }
        #expect(waits)
        session.pump()
        let first = try open()
        #expect(session.next(for: first) == .end)
        session.closed(first)
        let endedEarly = hasEnded.withLock { $0 }
        #expect(!endedEarly)
        budget.release(4 << 20, of: .host)
        let second = try open()
        while case .chunk = session.next(for: second) {}
        session.closed(second)
        let ended = hasEnded.withLock { $0 }
        #expect(ended)
        _ = try connection.finish()
    }

    /// A Write stream that has answers until it ends.
    private final class WriteAnswers: StreamEndpoint {
        private let ready = Mutex<(messages: [[UInt8]], isEnded: Bool)>(([], false))
        private let endsSession: Bool

        init(endsSession: Bool = false) { self.endsSession = endsSession }

        var mustDeliver: Bool { true }

        func add(bytes: Int) {
            ready.withLock { $0.messages.append([UInt8](repeating: UInt8(ascii: "1"), count: bytes)) }
        }

        func take() -> (messages: [[UInt8]], isLast: Bool) {
            ready.withLock { ready in
                defer { ready.messages = [] }
                return (ready.messages, ready.isEnded && endsSession)
            }
        }

        func end(_ error: DocumentError) {
            ready.withLock { ready in
                if !ready.isEnded { ready.messages.append(Array(error.description.utf8)) }
                ready.isEnded = true
            }
        }

        func fail(_ error: DocumentError) { end(error) }
        func receive(_ text: [UInt8]) {}
        func decideAgain() {}
        func refresh() {}
        func close() {}
    }

    /// The client would take it for all that there is, and resume behind what was lost.
    @Test func whatTheStreamHasWhileItsSessionEndsIsNotSent() throws {
        let session = WebChannelSession(id: "s", owner: 1, requester: Requester(.admin), limits: .init())
        let connection = EmbeddedChannel()
        session.connect(EndingMessage { session.terminate() })
        session.pump()
        #expect(session.open(isBuffered: false, acknowledged: 0, on: connection) == nil)
        #expect(session.isOver(at: .now, after: .seconds(60)))
        _ = try connection.finish()
    }

    /// A stream whose session ends while its one message is taken.
    private final class EndingMessage: StreamEndpoint {
        private let end: Mutex<(@Sendable () -> Void)?>

        init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

        func take() -> (messages: [[UInt8]], isLast: Bool) {
            guard let end = end.withLock({ $0.take() }) else { return ([], false) }
            end()
            return ([Array("1".utf8)], false)
        }

        func receive(_ text: [UInt8]) {}
        func decideAgain() {}
        func refresh() {}
        func fail(_ error: DocumentError) {}
        func close() {}
    }

    @Test func mapsAreHandledOnceAndInOrder() throws {
        var state = WebChannelState()
        func receive(_ numbers: Int...) throws -> [String] {
            try state.receive(numbers.map { ($0, Array("\($0)".utf8)) }).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try receive(0, 1) == ["0", "1"])
        #expect(try receive(1) == [])
        #expect(try receive(4) == [])
        #expect(try receive(3, 2) == ["2", "3", "4"])
        #expect(throws: WebChannelState.TooManyMaps.self) {
            try state.receive((10..<2000).map { ($0, []) })
        }
        var limits = ClientLimits.WebChannel()
        limits.early = 10
        var other = WebChannelState(limits)
        #expect(try other.receive([(1, Array(repeating: 0, count: 10))]).isEmpty)
        #expect(throws: WebChannelState.TooManyMaps.self) { try other.receive([(2, [0])]) }
    }

    /// What waits for a client's earlier maps counts as what waits for the client does.
    @Test func earlyMapsCountAgainstTheMemoryOfAnswers() {
        let budget = MemoryBudget(total: 4 << 20)
        func session() -> WebChannelSession {
            WebChannelSession(
                id: "s", owner: 1, requester: Requester(.admin), limits: .init(), answers: budget, holder: .host)
        }
        let map = [(number: 1, text: [UInt8](repeating: 0, count: 3 << 20))]
        let (first, second) = (session(), session())
        #expect(first.receive(map) != nil)
        #expect(second.receive(map) == nil)
        first.terminate()
        let third = session()
        #expect(third.receive(map) != nil)
    }

    @Test func aFinishedSessionEndsOnceEverythingWasSent() {
        var state = WebChannelState()
        state.send([message("1")])
        state.finish()
        #expect(!state.isDone)
        #expect(open(&state, 1, false, 0) == ["9\n[[1,[1]]]", "end"])
        #expect(!state.isDone)
        state.acknowledge(1)
        #expect(state.isDone)
        var other = WebChannelState()
        _ = open(&other, 1, false, 0)
        other.terminate()
        #expect(answer(&other, 1) == ["end"])
        #expect(other.isDone)
    }

    @Test func formsAreRead() throws {
        let form = try #require(
            WebChannelForm(
                "headers=X-Goog-Api-Client%3Agl-js%0D%0AAuthorization%3ABearer%20owner%0D%0A&count=2&ofs=3&req0___data__=%7B%7D&req1___data__=a%2Bb"
                    .utf8))
        #expect(form.authorization == "Bearer owner")
        #expect(form.maps.map(\.number) == [3, 4])
        #expect(form.maps.map { String(decoding: $0.text, as: UTF8.self) } == ["{}", "a+b"])
        #expect(WebChannelForm("ofs=x".utf8) == nil)
        #expect(WebChannelForm("ofs=9223372036854775807&req1___data__=1".utf8) == nil)
        #expect(WebChannelForm("".utf8)?.maps.isEmpty == true)
        let many = (0..<1000).map { "&req\($0)___data__={}" }.joined()
        #expect(WebChannelForm("count=1000&ofs=0\(many)".utf8)?.maps.count == 1000)
        #expect(WebChannelForm(String(repeating: "a&", count: 5000).utf8) == nil)
    }
}
