import DocumentModel
@testable import FirestoreAPI
import Sharing
import Testing

/// What sessions of WebChannel send and receive.
@Suite struct WebChannelStateTests {
    private func text(_ actions: [WebChannelState.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .send(let chunk): String(decoding: chunk, as: UTF8.self)
            case .end(let id): "end \(id)"
            }
        }
    }

    private func open(
        _ state: inout WebChannelState, _ id: UInt64, _ isBuffered: Bool, _ acknowledged: Int
    ) -> [WebChannelState.Action] {
        state.acknowledge(acknowledged)
        return state.open(id, isBuffered: isBuffered)
    }

    private func message(_ text: String) -> [UInt8] { Array("[\(text)]".utf8) }

    @Test func messagesAreNumberedAndFramed() {
        var state = WebChannelState()
        #expect(state.send([message("1"), message("2")]).isEmpty)
        #expect(text(open(&state, 1, false, 0)) == ["17\n[[1,[1]],[2,[2]]]"])
        #expect(text(state.send([message("3")])) == ["9\n[[3,[3]]]"])
        // The length counts UTF-16 units.
        #expect(text(state.send([message("\"é🛒\"")])) == ["13\n[[4,[\"é🛒\"]]]"])
    }

    @Test func whatIsNotAcknowledgedIsSentAgain() {
        var state = WebChannelState()
        _ = state.send([message("1"), message("2"), message("3")])
        #expect(text(open(&state, 1, true, 0)).last == "end 1")
        #expect(text(open(&state, 2, true, 2)) == ["9\n[[3,[3]]]", "end 2"])
        #expect(text(open(&state, 3, true, 3)) == ["14\n[[4,[\"noop\"]]]"])
        #expect(state.unacknowledgedBytes == 8)
        // A noop doesn't end a buffered answer; a message does.
        #expect(text(state.send([message("5")])) == ["9\n[[5,[5]]]", "end 3"])
        #expect(!state.hasBackChannel)
    }

    @Test func aSecondBackChannelEndsTheFirst() {
        var state = WebChannelState()
        _ = open(&state, 1, false, 0)
        #expect(text(open(&state, 2, false, 1)).first == "end 1")
        state.closed(1)
        #expect(state.hasBackChannel)
        state.closed(2)
        #expect(!state.hasBackChannel && !state.isDone)
    }

    /// Only a new back channel acknowledges.
    @Test func aBackChannelEndsOnceItHasSentMuch() {
        var limits = ClientLimits.WebChannel()
        (limits.backChannel, limits.unacknowledged) = (1000, 4000)
        var state = WebChannelState(limits)
        _ = open(&state, 1, false, 0)
        let large = message(String(repeating: "1", count: limits.backChannel))
        #expect(text(state.send([message("1")])).last != "end 1")
        #expect(text(state.send([large])).last == "end 1")
        for _ in 0..<4 { _ = state.send([large]) }
        #expect(!state.hasRoom)
        _ = open(&state, 2, false, 7)
        #expect(state.hasRoom)
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
        _ = state.send([message("1")])
        state.finish()
        #expect(!state.isDone)
        #expect(text(open(&state, 1, false, 0)) == ["9\n[[1,[1]]]", "end 1"])
        #expect(!state.isDone)
        state.acknowledge(1)
        #expect(state.isDone)
        var other = WebChannelState()
        _ = open(&other, 1, false, 0)
        #expect(text(other.terminate()) == ["end 1"])
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
