@testable import RealtimeAPI
import RealtimeModel
import StrictJSON
import Testing

/// What a client says → what its session does.
@Suite struct RealtimeSessionTests {
    private static func ok(_ number: Int, _ data: String = #""""#) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":\#(data)}}}"#
    }

    private static func refused(_ number: Int, _ status: String, _ text: String) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"\#(status)","d":"\#(text)"}}}"#
    }

    private func user(_ uid: String) -> RealtimePrincipal { .client(RealtimeAuth(uid: uid, claims: ["exp": 9])) }

    @Test func theServerSpeaksFirst() {
        var script = SessionScript(.init(host: "h:9000"))
        #expect(script.begin() == [#"{"t":"c","d":{"t":"h","d":{"ts":5,"v":"5","h":"h:9000","s":"S"}}}"#])
    }

    @Test(arguments: [
        // One request each, without an answer of the database → what is done.
        ("s", #"{"c":{"sdk.js.12-0-0":1}}"#, [ok(1)]),
        ("g", #"{"p":"/a/b","q":{}}"#, ["perform 1 get /a/b as -"]),
        ("g", #"{"q":{"i":"x"},"p":"a"}"#, ["perform 1 get /a by query as -"]),
        ("p", #"{"p":"/a","d":{"x":1}}"#, [#"perform 1 write /a={"x":1} as -"#]),
        ("p", #"{"d":{"x":1},"h":"","p":"/a"}"#, [#"perform 1 write /a={"x":1} if "" as -"#]),
        ("p", #"{"p":"/a/.priority","d":3}"#, ["perform 1 write /a/.priority=3 as -"]),
        ("p", #"{"p":"/a"}"#, ["perform 1 write /a=null as -"]),
        ("m", #"{"p":"/a","d":{"x/y":1,"z":null}}"#, ["perform 1 write /a/x/y=1 /a/z=null as -"]),
        ("o", #"{"p":"/a","d":false}"#, ["perform 1 onDisconnect /a=false as -"]),
        ("om", #"{"p":"/a","d":{"b":1}}"#, ["perform 1 onDisconnect /a/b=1 as -"]),
        ("oc", #"{"p":"/a","d":null}"#, ["perform 1 cancel onDisconnect /a as -"]),
        ("q", #"{"p":"/a","h":""}"#, ["listen 1 /a as -"]),
        ("q", #"{"p":"a","h":"hash"}"#, ["listen 1 /a with hash as -"]),
        ("q", #"{"p":"/a","q":{"i":".key","l":1,"vf":"l"},"t":3,"h":""}"#, ["listen 1 /a by query as -"]),
        ("n", #"{"p":"/a"}"#, [ok(1)]),
        ("auth", #"{"cred":"T"}"#, ["verify 1 T"]),
        ("gauth", #"{"cred":"T"}"#, ["verify 1 T"]),
        ("gauth", #"{"cred":"T","authvar":{"uid":"u"}}"#, ["verify 1 T as u"]),
        ("gauth", #"{"cred":"T","noauth":true}"#, ["verify 1 T as -"]),
        ("unauth", "{}", ["token ends never", ok(1)]),
        ("appcheck", #"{"token":"T"}"#, [ok(1)]),
        ("unappeck", "{}", [ok(1)]),
        // What is refused.
        ("nonsense", "{}", [refused(1, "failed", #"There is no request \"nonsense\"."#)]),
        ("g", "{}", [refused(1, "failed", "The request has no path.")]),
        ("g", "7", [refused(1, "failed", "The request's body is not an object.")]),
        ("g", #"{"p":"/a","q":7}"#, [refused(1, "failed", "query must be a JSON object")]),
        ("q", #"{"p":"/a","q":{"l":0}}"#, [refused(1, "failed", "limit must be a positive integer")]),
        ("auth", "{}", [refused(1, "invalid_token", "Could not parse auth token.")]),
        ("gauth", #"{"cred":"T","authvar":7}"#, [refused(1, "failed", "authvar is not an object.")]),
    ])
    func requests(action: String, body: String, expected: [String]) {
        var script = SessionScript()
        #expect(script.ask(1, action, body) == expected)
    }

    @Test(arguments: ["/a.b", "/a/$x", "a#", "/[/a"]) func pathsAreChecked(path: String) throws {
        for action in ["g", "q", "p", "m", "o", "om", "oc", "n"] {
            var script = SessionScript()
            let answer = try #require(script.ask(4, action, #"{"p":"\#(path)","d":{"x":1}}"#).first)
            #expect(answer.hasPrefix(#"{"t":"d","d":{"r":4,"b":{"s":"failed","d":"Invalid data; "#), "\(answer)")
        }
    }

    @Test(arguments: [
        "", "7", "[]", "{", "{}", #"{"t":"x","d":{}}"#, #"{"t":"d","d":{}}"#, #"{"t":"d","d":{"r":"1"}}"#,
        #"{"t":"c"}"#,
        #"{"t":"d","d":{"r":1,"a":"s","b":{}}} "# + "x", "\u{0}", String(repeating: "[", count: 100_000),
    ])
    func whatIsNotTheProtocolEndsTheConnection(text: String) {
        var script = SessionScript()
        #expect(script.say(text) == ["token ends never", "close"])
        #expect(script.ask(1, "s", "{}") == [])
    }

    @Test func controlsAreAnswered() {
        var script = SessionScript()
        #expect(script.say(#"{"t":"c","d":{"t":"p","d":{}}}"#) == [#"{"t":"c","d":{"t":"o","d":{}}}"#])
        #expect(script.say(#"{"t":"c","d":{"t":"zzz","d":{}}}"#) == [])
    }

    @Test func answersKeepTheOrderOfRequests() {
        var script = SessionScript()
        #expect(script.ask(1, "g", #"{"p":"a"}"#) == ["perform 1 get /a as -"])
        #expect(script.ask(2, "g", #"{"p":"b"}"#) == ["perform 2 get /b as -"])
        // Another kind waits for both.
        #expect(script.ask(3, "p", #"{"p":"c","d":1}"#) == [])
        #expect(script.ask(4, "s", "{}") == [])
        #expect(script.answered(2, .value(.bytes(Array("2".utf8)))) == [])
        #expect(
            script.answered(1, .value(.bytes(Array("1".utf8)))) == [
                Self.ok(1, "1"), Self.ok(2, "2"), "perform 3 write /c=1 as -",
            ])
        #expect(script.answered(3, .done) == [Self.ok(3), Self.ok(4)])
        #expect(script.answered(3, .done) == [])
    }

    @Test func nothingIsReadForAClientThatTakesNothing() {
        var script = SessionScript()
        #expect(script.isBackedUp(true) == [])
        #expect(script.ask(1, "p", #"{"p":"a","d":1}"#) == ["perform 1 write /a=1 as -"])
        _ = script.answered(1, .done)
        #expect(script.ask(2, "g", #"{"p":"a"}"#) == [])
        #expect(script.ask(3, "q", #"{"p":"a","h":""}"#) == [])
        #expect(script.isBackedUp(false) == ["perform 2 get /a as -"])
        #expect(script.isBackedUp(true) == [])
        #expect(!script.answered(2, .failure(.permissionDenied)).contains { $0.hasPrefix("listen") })
        #expect(script.isBackedUp(false) == ["listen 1 /a as -"])
    }

    @Test func writesDoNotWaitForEachOther() {
        var script = SessionScript()
        _ = script.ask(1, "p", #"{"p":"a","d":1}"#)
        #expect(script.ask(2, "p", #"{"p":"b","d":1}"#) == ["perform 2 write /b=1 as -"])
        #expect(script.answered(2, .done) == [])
        #expect(script.answered(1, .failure(.permissionDenied)).count == 2)
    }

    @Test(arguments: [
        (RealtimeServiceError.permissionDenied, "permission_denied", "Permission denied"),
        (.stale, "datastale", "The data has changed since it was read."),
        (.invalidToken, "invalid_token", "Could not parse auth token."),
        (.expiredToken, "expired_token", "Auth token is expired"),
        (
            .tooMuchToRead, "too_big",
            "Data requested exceeds the maximum size that can be accessed with a single request."
        ),
        (
            .tooMuchToWrite, "write_too_big",
            "Data to write exceeds the maximum size that can be modified with a single request."
        ),
        (.failed("why"), "failed", "why"),
    ])
    func errorsHaveTheirStatus(error: RealtimeServiceError, status: String, text: String) {
        var script = SessionScript()
        _ = script.ask(7, "g", #"{"p":"a"}"#)
        #expect(script.answered(1, .failure(error)) == [Self.refused(7, status, text)])
    }

    // MARK: Listens

    @Test func dataComeBeforeTheOk() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a/b","h":""}"#)
        #expect(script.began(1, "null") == [#"{"t":"d","d":{"a":"d","b":{"p":"a/b","d":null}}}"#, Self.ok(1, "{}")])
        let push = RealtimePush(RealtimePath(unchecked: [RealtimeKey(unchecked: "a")]), .put(RealtimeNode(1)))
        #expect(script.received(.push(push), of: 1) == [#"{"t":"d","d":{"a":"d","b":{"p":"a","d":1}}}"#])
        #expect(script.ask(2, "n", #"{"p":"a/b"}"#) == ["cancel 1", Self.ok(2)])
        // It was on its way.
        #expect(script.received(.push(push), of: 1) == [])
    }

    @Test func queriesHaveTheirTag() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","q":{"i":"x"},"t":7,"h":""}"#)
        let start = RealtimeListenStart(.value(.bytes(Array("{}".utf8))), isIndexed: false)
        #expect(
            script.received(.began(start), of: 1) == [
                #"{"t":"d","d":{"a":"d","b":{"p":"a","d":{},"t":7}}}"#, Self.ok(1, #"{"w":["no_index"]}"#),
            ])
        let merge = RealtimePush(
            RealtimePath(unchecked: [RealtimeKey(unchecked: "a")]),
            .merge([
                RealtimeChange(RealtimeTarget(RealtimePath(unchecked: [RealtimeKey(unchecked: "k")])), nil),
                RealtimeChange(RealtimeTarget(.root, isPriority: true), RealtimeNode("high")),
            ]))
        #expect(
            script.received(.push(merge), of: 1) == [
                #"{"t":"d","d":{"a":"m","b":{"p":"a","d":{"k":null,".priority":"high"},"t":7}}}"#
            ])
    }

    @Test func unchangedDataAreNotSent() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":"H"}"#)
        #expect(script.received(.began(RealtimeListenStart(.unchanged)), of: 1) == [Self.ok(1, "{}")])
    }

    @Test func aRefusedListenIsForgotten() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        #expect(
            script.received(.ended(.permissionDenied), of: 1) == [
                Self.refused(1, "permission_denied", "Permission denied")
            ])
        #expect(script.ask(2, "n", #"{"p":"/a"}"#) == [Self.ok(2)])
    }

    @Test func aRevokedListenNamesItsQueryAsTheClientWroteIt() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.began(1, "null")
        #expect(script.received(.ended(.permissionDenied), of: 1) == [#"{"t":"d","d":{"a":"c","b":{"p":"a"}}}"#])
        _ = script.ask(2, "q", #"{"p":"/a","q":{ "vf":"l","l":1 , "i":".key"},"t":1,"h":""}"#)
        _ = script.began(2, "null")
        #expect(
            script.received(.ended(.permissionDenied), of: 2) == [
                #"{"t":"d","d":{"a":"c","b":{"p":"a","q":[{ "vf":"l","l":1 , "i":".key"}]}}}"#
            ])
    }

    /// The client would give a listen that is revoked up for good.
    @Test func aListenThatFailsEndsTheConnection() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.began(1, "null")
        _ = script.ask(2, "q", #"{"p":"/b","h":""}"#)
        _ = script.began(2, "null")
        #expect(
            script.received(.ended(.unavailable("later")), of: 1) == [
                "cancel 1", "cancel 2", "token ends never", "close later",
            ])
    }

    @Test func longQueriesAreRefused() {
        var script = SessionScript()
        let text = String(repeating: "z", count: 16_384)
        for action in ["q", "n", "g"] {
            #expect(
                script.ask(1, action, #"{"p":"/a","q":{"zzz":"\#(text)","l":1},"t":1,"h":""}"#)
                    == [Self.refused(1, "failed", "The query has more than 16384 bytes.")])
        }
    }

    @Test func listensOfOnePathHaveHashesOfTheirOwn() {
        let keys = (1...1_000).map { ListenKey(path: .root, query: RealtimeQuery(limit: .first($0))) }
        #expect(Set(keys.map(\.hashValue)).count > 900)
    }

    @Test func aListenThatIsSentTwiceReplacesTheFirst() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.began(1, "null")
        #expect(script.ask(2, "q", #"{"p":"a/","h":""}"#) == ["cancel 1", "listen 2 /a as -"])
        #expect(script.began(2, "1").count == 2)
    }

    @Test func listensAreBounded() {
        var limits = RealtimeConnectionLimits()
        limits.listens = 2
        var script = SessionScript(limits: limits)
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.ask(2, "q", #"{"p":"/b","h":""}"#)
        _ = script.ask(3, "q", #"{"p":"/c","h":""}"#)
        _ = script.began(1, "null")
        #expect(script.began(2, "null").last == Self.refused(3, "failed", "The connection has 2 listens, the limit."))
    }

    @Test func listensAreCounted() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        #expect((1_000...1_200).contains(script.session.listenBytes))
        // It replaces the first.
        _ = script.ask(2, "q", #"{"p":"/a","h":""}"#)
        #expect((1_000...1_200).contains(script.session.listenBytes))
        let key = String(repeating: "k", count: 768)
        let path = Array(repeating: key, count: 32).joined(separator: "/")
        _ = script.ask(3, "q", #"{"p":"\#(path)","h":""}"#)
        #expect((24_576...32_000).contains(script.session.listenBytes))
        let text = String(repeating: "z", count: 16_000)
        _ = script.ask(4, "q", #"{"p":"/a","q":{"i":"x","sp":"\#(text)"},"t":1,"h":""}"#)
        #expect((56_576...66_000).contains(script.session.listenBytes))
        _ = script.began(2, "null")
        _ = script.received(.ended(.permissionDenied), of: 3)
        #expect((33_000...36_000).contains(script.session.listenBytes))
        _ = script.began(4, "null")
        _ = script.received(.ended(.permissionDenied), of: 4)
        _ = script.ask(5, "n", #"{"p":"/a"}"#)
        #expect(script.session.listenBytes == 0)
        _ = script.ask(6, "q", #"{"p":"/a","h":""}"#)
        _ = script.session.end()
        #expect(script.session.listenBytes == 0)
    }

    // MARK: Overload

    /// The client would give a listen that is refused up for good.
    @Test func aListenWithoutRoomIsBegunAgain() {
        var script = SessionScript()
        #expect(script.ask(1, "q", #"{"p":"/a","h":"H"}"#) == ["listen 1 /a with H as -"])
        #expect(script.received(.ended(.unavailable("full")), of: 1) == ["retry 1 within 500"])
        #expect(script.retry(1) == ["listen 1 /a with H as -"])
        #expect(script.received(.ended(.unavailable("full")), of: 1) == ["retry 1 within 1000"])
        #expect(script.retry(1) == ["listen 1 /a with H as -"])
        #expect(script.began(1, "7") == [#"{"t":"d","d":{"a":"d","b":{"p":"a","d":7}}}"#, Self.ok(1, "{}")])
        #expect(script.retry(1) == [])
        #expect(script.ask(2, "n", #"{"p":"/a"}"#) == ["cancel 1", Self.ok(2)])
    }

    @Test(arguments: [
        ("q", #"{"p":"/a","h":""}"#, "listen 1 /a as -"), ("g", #"{"p":"/a"}"#, "perform 1 get /a as -"),
        ("o", #"{"p":"/a","d":1}"#, "perform 1 onDisconnect /a=1 as -"),
        ("oc", #"{"p":"/a"}"#, "perform 1 cancel onDisconnect /a as -"),
    ])
    func withoutRoomForHalfAMinuteTheConnectionEnds(action: String, body: String, asked: String) {
        var script = SessionScript()
        #expect(script.ask(1, action, body) == [asked])
        func refuse() -> [String] {
            action == "q"
                ? script.received(.ended(.unavailable("full")), of: 1)
                : script.answered(1, .failure(.unavailable("full")))
        }
        for pause in [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000] {
            #expect(refuse() == ["retry 1 within \(pause)"])
            #expect(script.retry(1) == [asked])
        }
        let cancelled = action == "q" ? ["cancel 1"] : []
        #expect(refuse() == cancelled + ["token ends never", "close later"])
        #expect(script.ask(2, "s", "{}") == [])
        #expect(script.session.requestBytes == 0)
    }

    @Test func answersKeepTheirOrderWhenReadsAreBegunAgain() {
        var script = SessionScript()
        _ = script.ask(1, "g", #"{"p":"a"}"#)
        _ = script.ask(2, "g", #"{"p":"b"}"#)
        #expect(script.ask(3, "p", #"{"p":"c","d":1}"#) == [])
        #expect(script.answered(1, .failure(.unavailable("full"))) == ["retry 1 within 500"])
        #expect(script.answered(2, .value(.bytes(Array("2".utf8)))) == [])
        #expect(script.retry(1) == ["perform 1 get /a as -"])
        #expect(
            script.answered(1, .value(.bytes(Array("1".utf8)))) == [
                Self.ok(1, "1"), Self.ok(2, "2"), "perform 3 write /c=1 as -",
            ])
    }

    @Test func aListenThatIsSentTwiceReplacesOneThatIsToBeBegunAgain() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":"H"}"#)
        _ = script.received(.ended(.unavailable("full")), of: 1)
        #expect(
            script.ask(2, "q", #"{"p":"/a","h":""}"#) == ["cancel 1", "listen 2 /a as -", Self.ok(1, "{}")])
        #expect(script.retry(1) == [])
        #expect(script.began(2, "7").count == 2)
    }

    /// The client would undo a write that is refused. It sends again what isn't answered, in its order.
    @Test func aWriteWithoutRoomEndsTheConnectionOnceThoseBeforeItAreAnswered() {
        var script = SessionScript()
        for number in 1...3 { _ = script.ask(number, "p", #"{"p":"a","d":\#(number)}"#) }
        #expect(script.answered(2, .failure(.unavailable("full"))) == [])
        // It would overtake the second one.
        #expect(script.ask(4, "p", #"{"p":"a","d":4}"#) == [])
        #expect(script.answered(3, .done) == [])
        #expect(script.answered(1, .done) == [Self.ok(1), "token ends never", "close later"])
        #expect(script.session.requestBytes == 0)
        #expect(script.ask(5, "p", #"{"p":"a","d":5}"#) == [])
    }

    @Test func theEndForgetsWhatIsToBeBegunAgain() {
        var script = SessionScript()
        _ = script.ask(1, "o", #"{"p":"/a","d":1}"#)
        _ = script.answered(1, .failure(.unavailable("full")))
        #expect(script.session.requestBytes > 0)
        _ = script.session.end()
        #expect(script.session.requestBytes == 0)
        #expect(script.retry(1) == [])
    }

    @Test func unavailableKeysAreAnswered() {
        var script = SessionScript()
        _ = script.ask(1, "auth", #"{"cred":"T"}"#)
        #expect(
            SessionScript.lines(script.session.verified(1, .failure(.unavailable("no keys")))) == [
                Self.refused(1, "unavailable", "no keys")
            ])
    }

    // MARK: Credentials

    @Test func authAnswersWhoOneIsOnceListensAreDecided() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.began(1, "null")
        #expect(script.ask(2, "auth", #"{"cred":"T"}"#) == ["verify 2 T"])
        #expect(script.ask(3, "g", #"{"p":"a"}"#) == [])
        #expect(script.verified(2, user("u"), until: 77) == ["token ends 77", "authorize 2 [1] as u"])
        #expect(script.received(.ended(.permissionDenied), of: 1) == [#"{"t":"d","d":{"a":"c","b":{"p":"a"}}}"#])
        #expect(
            SessionScript.lines(script.session.authorized(2)) == [
                Self.ok(2, #"{"auth":{"uid":"u","provider":"custom","token":{"exp":9}},"expires":9}"#),
                "perform 3 get /a as u",
            ])
    }

    @Test func anInvalidTokenChangesNothing() {
        var script = SessionScript()
        _ = script.ask(1, "auth", #"{"cred":"T"}"#)
        _ = script.verified(1, user("u"))
        _ = script.ask(2, "auth", #"{"cred":"X"}"#)
        #expect(
            SessionScript.lines(script.session.verified(2, .failure(.expiredToken))) == [
                Self.refused(2, "expired_token", "Auth token is expired")
            ])
        #expect(script.session.principal == user("u"))
    }

    @Test func adminsAndTheUnauthenticated() {
        var script = SessionScript()
        _ = script.ask(1, "gauth", #"{"cred":"owner"}"#)
        #expect(script.verified(1, .admin) == ["token ends never", Self.ok(1, #"{"auth":null}"#)])
        #expect(script.ask(2, "unauth", "{}") == ["token ends never", Self.ok(2)])
        #expect(script.session.principal == .client(nil))
    }

    /// Its session would end with the key, though no server is signed in any more.
    @Test func aServerThatSignsOutDependsOnItsKeyNoLonger() {
        var script = SessionScript()
        _ = script.ask(1, "gauth", #"{"cred":"T"}"#)
        _ = script.session.verified(1, .success(.init(.admin, serverKey: "key")))
        #expect(script.session.serverKey == "key")
        _ = script.ask(2, "gauth", #"{"cred":"X"}"#)
        _ = script.session.verified(2, .failure(.expiredToken))
        #expect(script.session.serverKey == "key")
        _ = script.ask(3, "unauth", "{}")
        #expect(script.session.serverKey == nil)
    }

    @Test func atItsEndATokenIsRevokedAndTheConnectionClosed() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.began(1, "null")
        #expect(
            SessionScript.lines(script.session.tokenEnded()) == [
                #"{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":"Auth token is expired"}}}"#, "cancel 1",
                "token ends never", "close",
            ])
        #expect(script.ask(2, "s", "{}") == [])
        #expect(SessionScript.lines(script.session.tokenEnded()) == [])
    }

    @Test func appsProveThemselvesWhereThatIsDemanded() {
        var script = SessionScript(.init(host: "h", verifiesApps: true))
        _ = script.begin()
        #expect(
            script.ask(1, "g", #"{"p":"a"}"#) == [
                Self.refused(1, "permission_denied", "The app has no valid App Check token.")
            ])
        #expect(script.ask(2, "appcheck", #"{"token":"B"}"#) == ["verify app 2 B"])
        #expect(
            SessionScript.lines(script.session.verifiedApp(2, .admitted(until: 9))) == [
                "app token ends 9", Self.ok(2),
            ])
        #expect(script.ask(3, "g", #"{"p":"a"}"#) == ["perform 3 get /a as -"])
        // Servers needn't.
        var server = SessionScript(.init(host: "h", verifiesApps: true))
        _ = server.ask(1, "gauth", #"{"cred":"T"}"#)
        _ = server.verified(1, .admin)
        #expect(server.ask(2, "g", #"{"p":"a"}"#) == ["perform 2 get /a as admin"])
    }

    /// SDKs send an invalid token if they can't get a better one at the moment, and would give up what is refused then.
    @Test func aConnectionWithAnInvalidAppTokenEndsBeforeItsListens() {
        let end = ["token ends never", "app token ends never"]
        func beginning() -> SessionScript {
            var script = SessionScript(.init(host: "h", appToken: "A", verifiesApps: true))
            #expect(script.begin().last == "verify app 1 A")
            #expect(script.ask(1, "q", #"{"p":"a","h":""}"#) == [])
            return script
        }
        var refused = beginning()
        let push = #"{"t":"d","d":{"a":"apc","b":{"s":"invalid_token","d":"Could not parse auth token."}}}"#
        #expect(SessionScript.lines(refused.session.verifiedApp(1, .refused)) == [push] + end + ["close"])
        var unknown = beginning()
        #expect(SessionScript.lines(unknown.session.verifiedApp(1, .unavailable)) == end + ["close later"])
        var later = SessionScript(.init(host: "h", verifiesApps: true))
        _ = later.begin()
        _ = later.ask(1, "appcheck", #"{"token":"B"}"#)
        #expect(later.ask(2, "q", #"{"p":"a","h":""}"#) == [])
        let answer = Self.refused(1, "invalid_token", "Could not parse auth token.")
        #expect(SessionScript.lines(later.session.verifiedApp(1, .refused)) == [answer] + end + ["close"])
    }

    /// What a client listens to must not outlive its app's token.
    @Test func listensEndWithTheAppsToken() {
        func listening() -> SessionScript {
            var script = SessionScript(.init(host: "h", appToken: "A", verifiesApps: true))
            _ = script.begin()
            _ = script.session.verifiedApp(1, .admitted(until: 9))
            #expect(script.ask(1, "q", #"{"p":"a","h":""}"#) == ["listen 1 /a as -"])
            _ = script.began(1, "1")
            return script
        }
        let end = [
            #"{"t":"d","d":{"a":"apc","b":{"s":"permission_denied","d":"The app has no valid App Check token."}}}"#,
            "cancel 1", "token ends never", "app token ends never", "close",
        ]
        var expired = listening()
        #expect(SessionScript.lines(expired.session.appTokenEnded()) == end)
        #expect(SessionScript.lines(expired.session.appTokenEnded()) == [])
        // A client is answered first.
        var removed = listening()
        #expect(removed.ask(2, "unappeck", "{}") == ["app token ends 0", Self.ok(2)])
        #expect(SessionScript.lines(removed.session.appTokenEnded()) == end)
        var refused = listening()
        #expect(refused.ask(2, "appcheck", #"{"token":"B"}"#) == ["verify app 3 B"])
        // What it has goes on until its own end.
        #expect(
            SessionScript.lines(refused.session.verifiedApp(3, .refused)) == [
                Self.refused(2, "invalid_token", "Could not parse auth token.")
            ])
        #expect(SessionScript.lines(refused.session.appTokenEnded()) == end)
        // Servers need none, but clients do.
        var server = SessionScript(.init(host: "h", verifiesApps: true))
        _ = server.ask(1, "gauth", #"{"cred":"T"}"#)
        _ = server.verified(1, .admin)
        _ = server.ask(2, "q", #"{"p":"a","h":""}"#)
        _ = server.began(1, "1")
        #expect(SessionScript.lines(server.session.appTokenEnded()) == [])
        #expect(server.ask(3, "unauth", "{}").contains("app token ends 0"))
    }

    // MARK: Former sessions, bounds

    @Test func aFormerSessionEndsBeforeAnythingElse() {
        var script = SessionScript(.init(host: "h", formerSession: "F"))
        #expect(script.begin().last == "perform 1 end F as -")
        #expect(script.ask(1, "s", "{}") == [])
        #expect(script.answered(1, .done) == [Self.ok(1)])
    }

    @Test func readingPausesWhileRequestsWait() {
        var limits = RealtimeConnectionLimits()
        limits.waitingRequests = 4
        limits.concurrentWrites = 1
        var script = SessionScript(limits: limits)
        for number in 1...4 { #expect(script.ask(number, "p", #"{"p":"a","d":1}"#).contains("pause") == false) }
        #expect(script.ask(5, "p", #"{"p":"a","d":1}"#) == ["pause"])
        // What is on its way is taken nevertheless.
        #expect(script.ask(6, "p", #"{"p":"a","d":1}"#) == [])
        #expect(script.answered(1, .done).contains("read") == false)
        #expect(script.answered(2, .done).contains("read") == false)
        #expect(script.answered(3, .done).last == "read")
    }

    @Test func readingPausesWhileLargeMessagesWait() {
        var limits = RealtimeConnectionLimits()
        limits.waitingBytes = 100
        var script = SessionScript(limits: limits)
        let large = #"{"p":"a","d":"\#(String(repeating: "x", count: 100))"}"#
        #expect(script.ask(1, "p", large).count == 1)
        // Large ones are not under way together.
        #expect(script.ask(2, "p", #"{"p":"a","d":1}"#) == [])
        #expect(script.ask(3, "p", large) == ["pause"])
        let actions = script.answered(1, .done)
        #expect(actions.count == 4)
        #expect(actions.last == "read")
    }

    @Test func readingPausesWhileAnswersWait() {
        var limits = RealtimeConnectionLimits()
        limits.unreadAnswerBytes = 100
        var script = SessionScript(limits: limits)
        #expect(script.hasUnreadAnswers(bytes: 100) == [])
        #expect(script.hasUnreadAnswers(bytes: 101) == ["pause"])
        // Requests that end don't change that.
        #expect(script.ask(1, "s", "{}") == [Self.ok(1)])
        #expect(script.hasUnreadAnswers(bytes: 51) == [])
        #expect(script.hasUnreadAnswers(bytes: 50) == ["read"])
    }

    @Test func theDatabaseHoldsWritesBeyondTheEnd() {
        var script = SessionScript()
        _ = script.ask(1, "p", #"{"p":"a","d":1}"#)
        let bytes = script.session.requestBytes
        #expect(bytes > 0)
        _ = script.ask(2, "g", #"{"p":"a"}"#)
        #expect(script.session.requestBytes > bytes)
        _ = script.session.end()
        #expect(script.session.requestBytes == bytes)
        #expect(script.answered(1, .done) == [])
        #expect(script.session.requestBytes == 0)
        var reading = SessionScript()
        _ = reading.ask(1, "q", #"{"p":"a","h":""}"#)
        _ = reading.session.end()
        #expect(reading.session.requestBytes == 0)
    }

    @Test func theEndCancelsListens() {
        var script = SessionScript()
        _ = script.ask(1, "q", #"{"p":"/a","h":""}"#)
        _ = script.ask(2, "q", #"{"p":"/b","h":""}"#)
        #expect(SessionScript.lines(script.session.end()) == ["cancel 1", "cancel 2", "token ends never"])
        #expect(script.began(1, "null") == [])
        #expect(SessionScript.lines(script.session.end()) == [])
    }
}
