import DocumentModel
import OutboundHTTP
@testable import RealtimeDatabaseClient
import TestSupport
import Testing
import WorkerProtocol

/// Observations over streams that change, break off and end.
@Suite(.endsHangs) struct RemoteObservationTests {
    private static func event(_ name: String, _ data: String) -> String { "event: \(name)\ndata: \(data)\n\n" }

    private static func put(_ data: String, at path: String = "/") -> String {
        event("put", #"{"path":"\#(path)","data":\#(data)}"#)
    }

    private static let rangeThatRESTHasNot = #"{"i":".value","sp":1,"sn":"[MAX_NAME]","l":1,"vf":"l"}"#

    private func observe(
        _ databases: RemoteDatabases, query: String? = nil, owner: UInt64 = 1
    ) async throws -> DatabaseRequest {
        let request = DatabaseRequest(.observe, target: "a", query: query.map { Array($0.utf8) })
        guard case .observing(let id) = try await databases.send(request, in: OperationContext(owner: owner)) else {
            throw DocumentError(.internal, "no observation")
        }
        return DatabaseRequest(.next, observation: id)
    }

    /// The next changes as text, until there are so many.
    private func changes(_ databases: RemoteDatabases, _ next: DatabaseRequest, _ count: Int) async throws -> [String] {
        var all: [String] = []
        while all.count < count {
            guard case .changes(let settings) = try await databases.send(next) else { break }
            all += settings.map { "\($0.target)=\($0.value.map { String(decoding: $0, as: UTF8.self) } ?? "nil")" }
        }
        return all
    }

    @Test func eventsAreChangesAndABrokenStreamIsOpenedAgain() async throws {
        let first = Self.put("1") + Self.put("null", at: "/b") + Self.event("keep-alive", "null")
        let second = Self.put("2") + Self.event("patch", #"{"path":"/c","data":{"d":3}}"#)
        // The first one ends within an event.
        let script = ScriptedDatabase([
            .stream([first, "event: put\ndata: {"], staysOpen: false), .failure(.notSent), .json("", status: 503),
            .stream([second], staysOpen: true),
        ])
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(try await changes(databases, next, 4) == ["=1", "b=nil", "=2", "c/d=3"])
        #expect(script.seen.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(script.addresses.allSatisfy { $0 == "https://demo.firebaseio.com/a.json?format=export" })
        databases.release(owner: 1)
        #expect(
            await failure { () throws(DocumentError) in try await databases.send(next) }?.code == .failedPrecondition)
    }

    @Test(arguments: [429, 500, 502, 503, 504])
    func aStreamThatCanNotBeOpenedForTheMomentIsOpenedAgain(status: Int) async throws {
        let script = ScriptedDatabase([
            .json(#"{"error":"not now"}"#, status: status), .stream([Self.put("1")], staysOpen: true),
        ])
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(try await changes(databases, next, 1) == ["=1"])
        databases.release(owner: 1)
    }

    @Test func anObservationEndsForItsOwner() async throws {
        let script = ScriptedDatabase([.stream([Self.put("1")], staysOpen: true)])
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(try await changes(databases, next, 1) == ["=1"])
        let foreign = await failure { () throws(DocumentError) in
            try await databases.send(next, in: OperationContext(owner: 2))
        }
        #expect(foreign?.code == .failedPrecondition)
        var end = next
        end.operation = .end
        #expect(try await databases.send(end) == .written)
        #expect(
            await failure { () throws(DocumentError) in try await databases.send(next) }?.code == .failedPrecondition)
    }

    @Test func whatIsNotAllowedEnds() async throws {
        for (step, code) in [
            (ScriptedDatabase.Step.json(#"{"error":"Permission denied"}"#, status: 401), StatusCode.permissionDenied),
            (.stream([Self.event("cancel", "null")], staysOpen: true), .permissionDenied),
            (.stream([Self.put("{")], staysOpen: true), .internal),
        ] {
            let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: ScriptedDatabase([step]))
            let next = try await observe(databases)
            #expect(await failure { () throws(DocumentError) in try await databases.send(next) }?.code == code)
        }
    }

    @Test func aServiceThatStaysAwayIsGivenUp() async throws {
        let script = ScriptedDatabase(Array(repeating: .failure(.notSent), count: 8))
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(await failure { () throws(DocumentError) in try await databases.send(next) }?.code == .unavailable)
        #expect(script.isDone)
    }

    /// As when an access token expires.
    @Test func aRevokedTokenOpensAnotherStream() async throws {
        let script = ScriptedDatabase([
            .stream([Self.put("1"), Self.event("auth_revoked", "credential is no longer valid")], staysOpen: true),
            .stream([Self.put("2")], staysOpen: true),
        ])
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(try await changes(databases, next, 2) == ["=1", "=2"])
        databases.release(owner: 1)
    }

    @Test func whatIsTooLargeEnds() async throws {
        let piece = String(repeating: "x", count: 1 << 20)
        let script = ScriptedDatabase([
            .stream(["event: put\ndata: "] + Array(repeating: piece, count: 17), staysOpen: true),
            // It may be opened once more before its end is known.
            .stream([], staysOpen: true),
        ])
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(
            await failure { () throws(DocumentError) in try await databases.send(next) }?.code == .resourceExhausted)
    }

    /// What was handled is given back: many events aren't one large one.
    @Test func whatWasHandledIsGivenBack() async throws {
        let noise = Self.event("keep-alive", String(repeating: " ", count: 5 << 20))
        let script = ScriptedDatabase(
            Array(repeating: .stream([noise], staysOpen: false), count: 10)
                + [.stream([Self.put("1")], staysOpen: true)])
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]), streams: script)
        let next = try await observe(databases)
        #expect(try await changes(databases, next, 1) == ["=1"])
        databases.release(owner: 1)
    }

    /// REST can't say where such a query begins: the stream shows that something has changed, and the query is read.
    @Test func aQueryThatIsNotExactIsReadAtEachChange() async throws {
        let streams = ScriptedDatabase([
            .stream([Self.put(#"{"a":1,"b":2}"#)], staysOpen: false),
            .stream([Self.put(#"{"a":1,"b":3}"#)], staysOpen: true),
        ])
        let script = ScriptedDatabase([.json(#"{"a":1,"b":2}"#), .json(#"{"a":1,"b":3}"#)])
        let databases = try RemoteDatabases.scripted(script, streams: streams)
        let next = try await observe(databases, query: Self.rangeThatRESTHasNot)
        #expect(try await changes(databases, next, 2) == [#"={"b":2}"#, #"={"b":3}"#])
        let range = "https://demo.firebaseio.com/a.json?format=export&orderBy=%22%24value%22&startAt=1"
        #expect(streams.addresses == [range, range])
        #expect(script.addresses == [range + "&limitToFirst=2", range + "&limitToFirst=2"])
        databases.release(owner: 1)
    }

    /// The stream's events alone don't count: otherwise it would be opened again forever.
    @Test func aQueryThatCanNotBeReadIsGivenUp() async throws {
        let attempts = 8
        let streams = ScriptedDatabase(
            Array(repeating: .stream([Self.put(#"{"a":1}"#)], staysOpen: false), count: attempts))
        // Each time it is attempted thrice.
        let script = ScriptedDatabase(Array(repeating: .failure(.notSent), count: 3 * attempts))
        let databases = try RemoteDatabases.scripted(script, streams: streams)
        let next = try await observe(databases, query: Self.rangeThatRESTHasNot)
        #expect(await failure { () throws(DocumentError) in try await databases.send(next) }?.code == .unavailable)
        #expect(streams.isDone)
        #expect(script.isDone)
    }

    @Test(arguments: [500, 504]) func aQueryThatFailsForTheMomentIsReadAgain(status: Int) async throws {
        let streams = ScriptedDatabase([
            .stream([Self.put(#"{"a":1}"#)], staysOpen: true), .stream([Self.put(#"{"a":1}"#)], staysOpen: true),
        ])
        let script = ScriptedDatabase([.json(#"{"error":"not now"}"#, status: status), .json(#"{"b":2}"#)])
        let databases = try RemoteDatabases.scripted(script, streams: streams)
        let next = try await observe(databases, query: Self.rangeThatRESTHasNot)
        #expect(try await changes(databases, next, 1) == [#"={"b":2}"#])
        databases.release(owner: 1)
    }

    /// What was read in between begins the count again.
    @Test func aQueryThatIsReadNowAndThenGoesOn() async throws {
        let streams = ScriptedDatabase(
            Array(repeating: .stream([Self.put(#"{"a":1}"#)], staysOpen: false), count: 13)
                + [.stream([Self.put(#"{"a":1}"#)], staysOpen: true)])
        let failing = Array(repeating: ScriptedDatabase.Step.failure(.notSent), count: 3 * 6)
        let script = ScriptedDatabase(failing + [.json(#"{"b":2}"#)] + failing + [.json(#"{"b":3}"#)])
        let databases = try RemoteDatabases.scripted(script, streams: streams)
        let next = try await observe(databases, query: Self.rangeThatRESTHasNot)
        #expect(try await changes(databases, next, 2) == [#"={"b":2}"#, #"={"b":3}"#])
        databases.release(owner: 1)
    }
}
