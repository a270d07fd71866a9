import DocumentModel
import NIOCore
import NIOEmbedded
import RealtimeModel
import Sharing
import TestSupport
import Testing

@testable import RealtimeAPI

/// The answer to a read may be of an earlier state than pushes before it, and clients take it for a later one.
@Suite(.endsHangs) struct ReadOrderTests {
    private let connections = TestConnections(listeningTo: path("a/b"))
    private var database: SlowDatabase { connections.database }
    private var connection: RealtimeConnection { connections.connections[0] }

    /// Lets the connection do its work.
    ///
    /// - Returns: what its client is sent.
    @discardableResult
    private func read() -> [String] {
        connections.eventLoop.run()
        connections.eventLoop.advanceTime(by: .seconds(1))
        return connections.read()[0]
    }

    private func push(_ version: Int64) { connections.push("\(version)", version: version) }

    private func get(_ path: RealtimePath, number: Int64 = 2) {
        connection.receive(.request(number: number, .get(path, nil)), bytes: 100)
    }

    @Test(arguments: [[], ["a", "b"], ["a", "b", "c"]]) func pushesThatAnAnswerUndoesAreSentAgain(keys: [String]) {
        get(path(keys.joined(separator: "/")))
        for version: Int64 in 5...8 { push(version) }
        #expect(read() == ["5", "6", "7", "8"])
        database.answerRead(.bytes(Array("1".utf8)), version: 6)
        #expect(read() == ["message", "7", "8"])
        push(9)
        #expect(read() == ["9"])
    }

    /// A read may wait for long, and its client be pushed tens of thousands of changes meanwhile.
    @Test func manyPushesAreKeptInOnePlace() {
        var reads = ReadsInProgress()
        for id: ReadsInProgress.ID in 1...3 { reads.begin(id, at: path("a"), OperationCancellation()) }
        let push = RealtimePush(path("a/b"), .put(RealtimeNode(1)))
        var moves = 0
        var place: UnsafePointer<ReadsInProgress.Push>?
        for _ in 0..<1_000 {
            let isKept = reads.note(push, of: 1, tag: nil)
            #expect(isKept)
            let now = reads.pushes(passing: 2).withUnsafeBufferPointer { $0.baseAddress }
            if now != place { moves += 1 }
            place = now
        }
        #expect(reads.pushes(passing: 2).count == 1_000)
        // As it grows.
        #expect(moves < 50)
    }

    @Test func anAnswerOfTheLastStateUndoesNothing() {
        get(.root)
        push(5)
        database.answerRead(.bytes(Array("1".utf8)), version: 5)
        #expect(read() == ["5", "message"])
    }

    @Test func whatIsElsewhereIsNotSentAgain() {
        get(path("a/c"))
        push(5)
        database.answerRead(.bytes(Array("1".utf8)), version: 4)
        #expect(read() == ["5", "message"])
    }

    @Test func whatPassesAnAnswerThatWaitsIsSentAgain() {
        get(.root)
        get(path("a"), number: 3)
        database.answerRead(.bytes(Array("1".utf8)), version: 4, number: 1)
        push(5)
        // Requests are answered in order.
        #expect(read() == ["5"])
        database.answerRead(.bytes(Array("2".utf8)), version: 5)
        #expect(read() == ["message", "message", "5"])
    }

    @Test func eachAnswerUndoesWhatItsStateLacks() {
        get(.root)
        push(5)
        get(path("a"), number: 3)
        push(6)
        #expect(read() == ["5", "6"])
        database.answerRead(.bytes(Array("1".utf8)), version: 4)
        #expect(read() == ["message", "5", "6"])
        push(7)
        database.answerRead(.bytes(Array("1".utf8)), version: 5)
        #expect(read() == ["7", "message", "6", "7"])
    }

    @Test func answersTogetherUndoOnce() {
        get(.root)
        get(path("a"), number: 3)
        push(5)
        #expect(read() == ["5"])
        database.answerRead(.bytes(Array("1".utf8)), version: 4, number: 1)
        database.answerRead(.bytes(Array("2".utf8)), version: 4)
        #expect(read() == ["message", "message", "5"])
    }

    /// A push may be of more than what is read. Sent again alone, it would undo what came after it.
    @Test func whatFollowsAPushThatIsSentAgainIsSentAgainToo() {
        get(path("a/b/c"))
        connections.push("before", at: path("a/b/d"), version: 5)
        connections.push("wide", at: path("a/b"), version: 6)
        connections.push("after", at: path("a/b/d"), version: 7)
        #expect(read() == ["before", "wide", "after"])
        database.answerRead(.bytes(Array("1".utf8)), version: 4)
        #expect(read() == ["message", "wide", "after"])
    }

    /// Its listeners would see all that happened there again.
    @Test func whatIsElsewhereIsNotSentAgainBehindWhatIs() {
        get(path("a/b"))
        push(5)
        connections.push("elsewhere", at: path("c"), version: 6)
        push(7)
        #expect(read() == ["5", "elsewhere", "7"])
        database.answerRead(.bytes(Array("1".utf8)), version: 4)
        #expect(read() == ["message", "5", "7"])
    }

    /// A quick read leaves nothing behind for a slow one of another place.
    @Test func whatPassedOtherReadsIsNotKept() {
        let budget = MemoryBudget(total: 1_000_000)
        let connections = TestConnections(listeningTo: path("a/b"), answers: budget)
        for (number, place) in ["a", "c"].enumerated() {
            connections.connections[0].receive(.request(number: Int64(number + 2), .get(path(place), nil)), bytes: 100)
        }
        connections.eventLoop.run()
        let before = budget.figures.used
        connections.push(String(repeating: "x", count: 200_000), version: 5)
        #expect(budget.figures.used >= before + 200_000)
        connections.database.answerRead(.bytes(Array("1".utf8)), version: 5)
        connections.push(String(repeating: "x", count: 200_000), version: 6)
        #expect(budget.figures.used == before)
    }

    @Test func aReadThatFailsUndoesNothing() {
        var limits = RealtimeConnectionLimits()
        limits.unreadPushBytes = 1000
        let connections = TestConnections(listeningTo: path("a/b"), limits: limits)
        connections.connections[0].receive(.request(number: 2, .get(.root, nil)), bytes: 100)
        connections.push("5", version: 5)
        connections.database.failRead(.permissionDenied)
        connections.eventLoop.run()
        #expect(connections.read() == [["5", "message"]])
        // Nothing more is kept for it.
        for version: Int64 in 6..<100 { connections.push("\(version)", version: version) }
        #expect(!connections.transports[0].isAborted)
    }

    /// A slow read must not fill the memory with what passes it.
    @Test func whatIsKeptForReadsIsBounded() {
        var limits = RealtimeConnectionLimits()
        limits.unreadPushBytes = 1000
        let connections = TestConnections(2, listeningTo: path("a/b"), limits: limits)
        // The second client's read is of another place.
        for (connection, place) in zip(connections.connections, ["a", "c"]) {
            connection.receive(.request(number: 2, .get(path(place), nil)), bytes: 100)
        }
        for version: Int64 in 0..<100 { connections.push("\(version)", version: version) }
        #expect(connections.transports.map(\.isAborted) == [true, false])
    }

    @Test func whatIsKeptForReadsIsGivenUpWithThem() {
        var limits = RealtimeConnectionLimits()
        limits.unreadPushBytes = 1000
        let connections = TestConnections(listeningTo: path("a/b"), limits: limits)
        for version: Int64 in 0..<100 {
            // There is always a read in progress.
            connections.connections[0].receive(.request(number: version + 2, .get(path("a"), nil)), bytes: 100)
            connections.push("\(version)", version: version)
            guard version > 0 else { continue }
            connections.database.answerRead(.bytes(Array("1".utf8)), version: version)
            connections.eventLoop.run()
        }
        #expect(!connections.transports[0].isAborted)
        #expect(connections.database.readCount == 1)
    }

    @Test func whatIsKeptForReadsIsCounted() {
        let budget = MemoryBudget(total: 1_000_000)
        let connections = TestConnections(listeningTo: path("a/b"), answers: budget)
        connections.connections[0].receive(.request(number: 2, .get(path("a"), nil)), bytes: 100)
        connections.eventLoop.run()
        let before = budget.figures.used
        let text = String(repeating: "x", count: 200_000)
        connections.push(text, version: 5)
        #expect(budget.figures.used >= before + 200_000)
        connections.database.answerRead(.bytes(Array("1".utf8)), version: 5)
        connections.eventLoop.run()
        #expect(budget.figures.used == before)
        #expect(connections.read() == [[text, "message"]])
    }

    @Test func aReadWaitsForTheListensBeforeIt() {
        connection.receive(.request(number: 3, .listen(ListenKey(path: path("a")), nil)), bytes: 100)
        get(.root)
        read()
        #expect(database.readCount == 0)
        database.notifyListeners(.began(RealtimeListenStart(.unchanged)))
        read()
        #expect(database.readCount == 1)
    }
}

private func path(_ text: String) -> RealtimePath {
    RealtimePath(unchecked: text.split(separator: "/").map { RealtimeKey(unchecked: String($0)) })
}
