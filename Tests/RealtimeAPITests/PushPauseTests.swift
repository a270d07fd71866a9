import NIOCore
import NIOEmbedded
import RealtimeModel
import TestSupport
import Testing

@testable import RealtimeAPI

/// Pushes that come again and again to many connections of a loop are handed over several at once.
@Suite(.endsHangs) struct PushPauseTests {
    @Test func theFirstOfManyPushesIsHandedOverAtOnceAndTheNextOnesTogether() {
        let listeners = TestConnections(8)
        listeners.push("a")
        #expect(listeners.read() == Array(repeating: ["a"], count: 8))
        listeners.eventLoop.advanceTime(by: .milliseconds(1))
        listeners.push("b")
        listeners.eventLoop.advanceTime(by: .microseconds(500))
        listeners.push("c")
        #expect(listeners.read() == Array(repeating: [], count: 8))
        listeners.eventLoop.advanceTime(by: .milliseconds(2))
        #expect(listeners.read() == Array(repeating: ["b", "c"], count: 8))
        // It was long ago that they had others.
        listeners.eventLoop.advanceTime(by: .milliseconds(3))
        listeners.push("d")
        #expect(listeners.read() == Array(repeating: ["d"], count: 8))
    }

    @Test func eachPushIsHandedOverOnce() {
        let listeners = TestConnections(8)
        let before = listeners.transports.map(\.flushes)
        for number in 0..<100 {
            listeners.push("\(number)")
            listeners.eventLoop.advanceTime(by: .microseconds(100))
        }
        listeners.eventLoop.advanceTime(by: .seconds(1))
        #expect(listeners.read() == Array(repeating: (0..<100).map { "\($0)" }, count: 8))
        for (transport, before) in zip(listeners.transports, before) {
            // In 10 ms.
            #expect((2...10).contains(transport.flushes - before), "\(transport.flushes - before)")
        }
    }

    @Test func anAnswerIsNeverHeldBack() {
        let listeners = TestConnections(9)
        listeners.connections[3].receive(
            .request(number: 2, .write(.set(RealtimeTarget(.root), RealtimeWriteValue(nil), ifHash: nil))), bytes: 100)
        listeners.push("a")
        _ = listeners.read()
        listeners.database.notifyListeners(.push(RealtimePush(RealtimePath.root, .put(RealtimeNode(.string("b"))))))
        listeners.database.answerWrite()
        listeners.eventLoop.run()
        var expected = Array(repeating: [String](), count: 9)
        expected[3] = ["b", "message"]
        #expect(listeners.read() == expected)
        listeners.eventLoop.advanceTime(by: .milliseconds(2))
        expected = Array(repeating: ["b"], count: 9)
        expected[3] = []
        #expect(listeners.read() == expected)
    }

    @Test func fewConnectionsNeverWait() {
        let listeners = TestConnections(7)
        for number in 0..<10 {
            listeners.push("\(number)")
            #expect(listeners.read() == Array(repeating: ["\(number)"], count: 7))
        }
    }
}
