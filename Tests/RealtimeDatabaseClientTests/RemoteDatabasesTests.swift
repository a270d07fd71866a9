import DocumentModel
@testable import FirestoreClient
import OutboundHTTP
@testable import RealtimeDatabaseClient
import Synchronization
import TestSupport
import Testing
import WorkerProtocol

/// The requests of each operation, and what their answers mean.
@Suite(.endsHangs) struct RemoteDatabasesTests {
    private typealias Step = ScriptedDatabase.Step

    private static func set(_ value: String, at target: String = "a", ifHash hash: String? = nil) -> DatabaseRequest {
        DatabaseRequest(.set, target: target, value: Array(value.utf8), ifHash: hash)
    }

    // MARK: Reads

    @Test func whatExistsIsReadWithPrioritiesAndItsETag() async throws {
        let script = ScriptedDatabase([
            .json(#"{"b":[1,2],".priority":3}"#, headers: ["Etag": "e1"]),
            .json("null", headers: ["ETag": "null_etag"]),
            .json("5"),
        ])
        let databases = try RemoteDatabases.scripted(script)
        let read = DatabaseRequest(.get, target: "/a//b/", wantsHash: true)
        #expect(
            try await databases.send(read)
                == .value(Array(#"{"b":{"0":1,"1":2},".priority":3}"#.utf8), hash: "e1"))
        #expect(try await databases.send(read) == .value(Array("null".utf8), hash: ""))
        #expect(try await databases.send(DatabaseRequest(.get)) == .value(Array("5".utf8), hash: ""))
        #expect(
            script.addresses == [
                "https://demo.firebaseio.com/a/b.json?format=export",
                "https://demo.firebaseio.com/a/b.json?format=export", "https://demo.firebaseio.com/.json?format=export",
            ])
        #expect(script.seen.map { $0.headers["X-Firebase-ETag"] } == ["true", "true", nil])
        #expect(script.seen.allSatisfy { $0.body == nil && $0.method == nil })
    }

    /// Children whose value is that of an excluded start take places of the limit.
    @Test func aQueryAsksForMoreUntilItHasEnough() async throws {
        let script = ScriptedDatabase([
            .json(#"{"a":1,"b":1}"#), .json(#"{"a":1,"b":1,"c":1,"d":2,"e":3}"#),
        ])
        let query = Array(#"{"i":".value","sp":1,"sn":"[MAX_NAME]","l":1,"vf":"l"}"#.utf8)
        let answer = try await RemoteDatabases.scripted(script).send(DatabaseRequest(.get, target: "a", query: query))
        #expect(answer == .value(Array(#"{"d":2}"#.utf8), hash: ""))
        let start = "https://demo.firebaseio.com/a.json?format=export&orderBy=%22%24value%22&startAt=1&limitToFirst="
        #expect(script.addresses == [start + "2", start + "8"])
    }

    @Test(arguments: ["", "{", "[1]]", #"{"a.":1}"#]) func anAnswerThatCantBeReadIsAnError(body: String) async throws {
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([.json(body)]))
        let error = await failure { () throws(DocumentError) in try await databases.send(DatabaseRequest(.get)) }
        #expect(error?.code == .internal)
    }

    @Test func readsAreRepeatedWithinBounds() async throws {
        let script = ScriptedDatabase([.failure(.notSent), .json("busy", status: 503), .json("1")])
        #expect(
            try await RemoteDatabases.scripted(script).send(DatabaseRequest(.get))
                == .value(Array("1".utf8), hash: ""))
        let broken = ScriptedDatabase([.failure(.lost), .failure(.lost), .failure(.lost)])
        let databases = try RemoteDatabases.scripted(broken)
        let error = await failure { () throws(DocumentError) in try await databases.send(DatabaseRequest(.get)) }
        #expect(error?.code == .unavailable)
        #expect(broken.isDone)
    }

    @Test func anAnswerIsCountedForItsInvocation() async throws {
        final class Full: AnswerBytes {
            func take(_ bytes: Int) throws(DocumentError) { throw DocumentError(.resourceExhausted, "full") }
        }
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([.json("1")]))
        let error = await failure { () throws(DocumentError) in
            try await databases.send(DatabaseRequest(.get), in: OperationContext(owner: 1, answer: Full()))
        }
        #expect(error?.code == .resourceExhausted)
    }

    // MARK: Writes

    @Test func eachWriteHasItsMethod() async throws {
        let script = ScriptedDatabase([.written, .written, .written, .written, .written, .json("2"), .json("null")])
        let databases = try RemoteDatabases.scripted(script)
        for request in [
            Self.set(#"{".sv":"timestamp"}"#), Self.set("null"), Self.set("3", at: "a/.priority"),
            Self.set("null", at: "a/.priority"),
            DatabaseRequest(.update, target: "a", value: Array(#"{"b/c":1}"#.utf8)),
            Self.set("2", ifHash: "e1"), Self.set("null", ifHash: ""),
        ] { #expect(try await databases.send(request) == .written) }
        let root = "https://demo.firebaseio.com/a"
        let seen = script.seen.map { request in
            let body = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            return "\(request.method ?? "") \(request.address.dropFirst(root.count)) \(body)"
        }
        #expect(
            seen == [
                #"PUT .json?print=silent {".sv":"timestamp"}"#, "PUT .json?print=silent null",
                "PUT /.priority.json?print=silent 3", "PUT /.priority.json?print=silent null",
                #"PATCH .json?print=silent {"b/c":1}"#, "PUT .json 2", "PUT .json null",
            ])
        #expect(script.seen.map { $0.headers["if-match"] } == [nil, nil, nil, nil, nil, "e1", "null_etag"])
    }

    @Test func aConditionThatFailsAborts() async throws {
        let databases = try RemoteDatabases.scripted(
            ScriptedDatabase([.json("5", status: 412, headers: ["ETag": "e2"])]))
        let error = await failure { () throws(DocumentError) in try await databases.send(Self.set("2", ifHash: "e1")) }
        #expect(error?.code == .aborted)
    }

    /// A write whose answer was lost may have been made, and isn't made twice.
    @Test func writesAreOnlyRepeatedIfTheyDidNotArrive() async throws {
        let script = ScriptedDatabase([.failure(.notSent), .written])
        #expect(try await RemoteDatabases.scripted(script).send(Self.set("1")) == .written)
        for (step, code) in [
            (Step.failure(.lost), StatusCode.unavailable), (.failure(.timedOut), .deadlineExceeded),
            (.json("", status: 503), .unavailable),
        ] {
            let databases = try RemoteDatabases.scripted(ScriptedDatabase([step]))
            let error = await failure { () throws(DocumentError) in try await databases.send(Self.set("1")) }
            #expect(error?.code == code)
        }
    }

    @Test(arguments: [
        set("1", at: "a.b"), set("{"), DatabaseRequest(.update, target: "a", value: Array("1".utf8)),
        DatabaseRequest(.update, value: Array(#"{"a":1,"a/b":2}"#.utf8)), DatabaseRequest(.get, target: "#"),
        DatabaseRequest(.get, target: "a", query: Array("[]".utf8)), DatabaseRequest(.get, query: Array("{".utf8)),
        DatabaseRequest(.observe, target: "#"),
    ])
    func badRequestsAreNotSent(request: DatabaseRequest) async throws {
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]))
        let error = await failure { () throws(DocumentError) in try await databases.send(request) }
        #expect(error?.code == .invalidArgument)
    }

    @Test func nothingIsSentForACallerWhoHasLeft() async throws {
        let cancellation = OperationCancellation()
        cancellation.cancel()
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([]))
        let error = await failure { () throws(DocumentError) in
            try await databases.send(Self.set("1"), in: OperationContext(cancellation: cancellation))
        }
        #expect(error == .callerLeft)
    }

    // MARK: Refusals

    @Test(arguments: [
        (401, #"{"error":"Permission denied"}"#, StatusCode.permissionDenied, "Permission denied"),
        (
            400, #"{"error":"Invalid data; couldn't parse JSON object, array, or value."}"#, .invalidArgument,
            "Invalid data"
        ),
        (
            400, #"{"error":"Index not defined, add \".indexOn\": \"n\", for path \"/a\", to the rules"}"#,
            .failedPrecondition, "\".indexOn\""
        ),
        (
            400, #"{"error":"Data requested exceeds the maximum size that can be accessed with a single request."}"#,
            .resourceExhausted, "Data requested"
        ),
        (
            404,
            #"{"correctUrl":"https://demo.asia-southeast1.firebasedatabase.app","error":"Database lives in a different region."}"#,
            .notFound, "its address is https://demo.asia"
        ),
        (413, "", .resourceExhausted, "status 413"), (414, "", .invalidArgument, "too long"),
        (423, #"{"error":"The database is disabled"}"#, .failedPrecondition, "disabled"),
        (429, "", .resourceExhausted, "status 429"), (500, #"{"error":"Internal"}"#, .internal, "Internal"),
        (307, "", .unknown, "status 307"),
    ])
    func refusalsHaveTheCodesOfTheHost(status: Int, body: String, code: StatusCode, message: String) async throws {
        let databases = try RemoteDatabases.scripted(ScriptedDatabase([.json(body, status: status)]))
        let error = await failure { () throws(DocumentError) in try await databases.send(Self.set("1")) }
        #expect(error?.code == code)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    // MARK: Tokens and redirects

    @Test func aTokenThatIsRefusedIsReplacedOnce() async throws {
        let tokens = ScriptedDatabase([
            .json(#"{"access_token":"old","expires_in":3600}"#), .json(#"{"access_token":"new","expires_in":3600}"#),
        ])
        let script = ScriptedDatabase([
            .json("", status: 401), .json(#"{"error":"Unauthorized request."}"#, status: 401),
        ])
        let databases = try RemoteDatabases.scripted(
            script, tokens: AccessTokens(for: .realtimeDatabase, host: "metadata.test", transport: tokens, now: { 0 }))
        let error = await failure { () throws(DocumentError) in try await databases.send(Self.set("1")) }
        #expect(error?.code == .permissionDenied)
        #expect(error?.message.contains("roles/firebasedatabase.admin") == true)
        #expect(script.seen.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
        let scopes =
            "https%3A//www.googleapis.com/auth/firebase.database%2Chttps%3A//www.googleapis.com/auth/userinfo.email"
        #expect(tokens.addresses.allSatisfy { $0.hasSuffix("/token?scopes=" + scopes) }, "\(tokens.addresses)")
    }

    @Test func aRedirectWithinTheServiceIsFollowed() async throws {
        let place = "https://s-usc1c-nss-200.firebaseio.com/a.json?ns=demo"
        let script = ScriptedDatabase([.json("", status: 307, headers: ["Location": place]), .json("1")])
        _ = try await RemoteDatabases.scripted(script).send(DatabaseRequest(.get, target: "a"))
        #expect(script.addresses.last == place)
        let foreign = ScriptedDatabase([.json("", status: 307, headers: ["Location": "https://evil.test/"])])
        let databases = try RemoteDatabases.scripted(foreign)
        let error = await failure { () throws(DocumentError) in try await databases.send(DatabaseRequest(.get)) }
        #expect(error?.code == .unknown)
    }
}
