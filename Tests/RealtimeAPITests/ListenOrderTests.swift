import NIOCore
import NIOEmbedded
import RealtimeModel
import TestSupport
import Testing

@testable import RealtimeAPI

/// The tests of Firebase's SDK for JavaScript expect the events of listens in the order in which they were asked for.
@Suite(.endsHangs) struct ListenOrderTests {
    private let connections = TestConnections()
    private var database: SlowDatabase { connections.database }

    /// Lets the connection do its work.
    ///
    /// - Returns: what its client is sent.
    private func read() -> [String] {
        connections.eventLoop.run()
        connections.eventLoop.advanceTime(by: .seconds(1))
        return connections.read()[0]
    }

    private func listen(_ keys: String...) {
        for (index, key) in keys.enumerated() {
            let path = RealtimePath(unchecked: [RealtimeKey(unchecked: key)])
            let listen = RealtimeRequest.listen(ListenKey(path: path), nil)
            connections.connections[0].receive(.request(number: Int64(index + 2), listen), bytes: 100)
        }
        connections.eventLoop.run()
    }

    private func begin(_ number: Int) { database.notifyListener(number, .began(RealtimeListenStart(.unchanged))) }

    private func push(_ name: String, to number: Int) {
        let change = RealtimePush.Change.put(RealtimeNode(.string(name)))
        database.notifyListener(number, .push(RealtimePush(RealtimeTarget(.root), change, version: 5)))
    }

    @Test func aListenThatIsReadFirstWaitsForThoseBeforeIt() {
        listen("a", "b", "c")
        begin(3)
        push("c", to: 3)
        begin(2)
        push("b", to: 2)
        push("before", to: 0)
        #expect(read() == ["before"])
        begin(1)
        #expect(read() == ["message", "message", "b", "message", "c"])
        push("later", to: 2)
        #expect(read() == ["later"])
    }

    @Test func noListenWaitsForOneThatIsRefusedOrSentAgain() {
        listen("a", "a", "c")
        // The second "a" has ended the first.
        #expect(read() == ["message"])
        begin(3)
        push("c", to: 3)
        #expect(read().isEmpty)
        database.notifyListener(2, .ended(.permissionDenied))
        #expect(read() == ["message", "message", "c"])
    }

    @Test func noListenWaitsForOneThatTheStoreHasNoRoomFor() {
        listen("a", "b")
        begin(2)
        push("b", to: 2)
        database.notifyListener(1, .ended(.unavailable("full")))
        #expect(read() == ["b"])
    }

    @Test func whatIsKeptIsBounded() {
        listen("a", "b")
        begin(2)
        for _ in 1..<ListenStarts.maxKeptPushes { push("b", to: 2) }
        #expect(read().isEmpty)
        push("last", to: 2)
        #expect(read().suffix(2) == ["b", "last"])
        begin(1)
        #expect(read() == ["message", "message"])
    }
}
