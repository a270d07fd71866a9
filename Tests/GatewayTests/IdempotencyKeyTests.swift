import DocumentModel
import FunctionManifest
import HostTesting
import Synchronization
import Testing
import WorkerProtocol
import WorkerTesting

/// The key under which a transactional function's answer is kept.
@Suite struct IdempotencyKeyTests {
    private static func function(isTransactional: Bool = true, asksForKeys: Bool = false) -> FunctionManifest {
        var manifest = FunctionManifest.callable("f")
        manifest.isTransactional = isTransactional
        if asksForKeys {
            manifest.trigger = .callable(
                .init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil, hasIdempotencyKey: true))
        }
        return manifest
    }

    private func headers(_ key: String, of user: String?) throws -> [String: String] {
        guard let user else { return ["Idempotency-Key": key] }
        let project = GatewayRing.project
        let claims: TestIssuer.Claims = [
            "iss": "https://securetoken.google.com/\(project)", "aud": project, "sub": user, "user_id": user,
        ]
        return ["Idempotency-Key": key, "Authorization": "Bearer \(try TestIssuer.unsigned(claims))"]
    }

    /// Calls with a key, and returns what the call's operations are done under.
    private func key(
        _ ring: GatewayRing, user: String? = nil, _ data: String = "1", key: String = "k"
    ) throws -> CompletionKey? {
        _ = try ring.call("f", data, headers(key, of: user))
        let invocation = try #require(ring.next())
        #expect(invocation.head.auth?.id == user)
        invocation.request(.get([try DocumentPath("items/1")], .strong))
        ring.run()
        return try #require(ring.documents.next()).context.completion
    }

    /// Otherwise one user would get the answer that was kept for another one.
    @Test func eachUserHasKeysOfTheirOwn() throws {
        try GatewayRing.with([Self.function()]) { ring in
            let keys = [
                try key(ring), try key(ring, user: "ada"), try key(ring, user: "bob"), try key(ring, user: "ada"),
            ]
            let scopes = keys.compactMap { $0?.scope }
            #expect(scopes == ["f/", "f/ada", "f/bob", "f/ada"])
            #expect(keys[1] == keys[3])
        }
    }

    @Test func otherDataHasAnotherFingerprint() throws {
        try GatewayRing.with([Self.function()]) { ring in
            let one = try #require(try key(ring, "1"))
            let two = try #require(try key(ring, "2"))
            #expect(one.key == two.key && one.scope == two.scope)
            #expect(one.fingerprint != two.fingerprint)
        }
    }

    /// Clients encode dictionaries in any order.
    @Test func theOrderOfKeysMakesNoDifference() throws {
        try GatewayRing.with([Self.function()]) { ring in
            let one = try #require(try key(ring, #"{"id":"k","in":{"a":1.50,"b":[{"x":1,"y":2}]}}"#))
            let two = try #require(try key(ring, #"{ "in":{"b":[{"y":2,"x":1}],"a":1.50},"id":"\u006b"}"#))
            #expect(one == two)
            let other = try #require(try key(ring, #"{"id":"k","in":{"a":1.50,"b":[{"x":2,"y":1}]}}"#))
            #expect(one.fingerprint != other.fingerprint)
        }
    }

    /// Data that can't be sorted is compared as it is: with a repeated key, or of too many values.
    @Test func otherDataIsComparedAsItIs() throws {
        let many = "[\(String(repeating: "1,", count: 20_000))1]"
        let pairs = [
            (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#), (#"{"a":1,"b":\#(many)}"#, #"{"b":\#(many),"a":1}"#),
        ]
        try GatewayRing.with([Self.function()]) { ring in
            for (one, two) in pairs {
                let keys = [try key(ring, one), try key(ring, one), try key(ring, two)]
                #expect(keys[0] != nil)
                #expect(keys[0] == keys[1])
                #expect(keys[0] != keys[2])
            }
        }
    }

    /// Their transactions aren't their work as a whole: they claim the key in the header themselves.
    @Test func otherFunctionsAreGivenTheKey() throws {
        try GatewayRing.with([Self.function(isTransactional: false)]) { ring in
            let key = try key(ring, user: "ada")
            #expect(key == nil)
            _ = try ring.call("f", "1", headers("k", of: "ada"))
            let invocation = try #require(ring.next())
            #expect(invocation.head.idempotencyKey == "k")
            invocation.request(.claim(key: "k", .once))
            ring.run()
            let claimed = try #require(ring.documents.next()).context.completion
            #expect(claimed?.scope == "f/ada" && claimed?.key == "k")
        }
    }

    /// Otherwise anyone could fill the disk with answers.
    @Test func callersWithoutATokenUseKeysOnlyWhereTheAuthorAsksForThem() throws {
        try GatewayRing.with([Self.function(isTransactional: false)]) { ring in
            let refused = try ring.call("f", "1", headers("k", of: nil))
            #expect(refused.answer?.status == 401)
            #expect(refused.answer?.body.contains("An Idempotency-Key requires a signed-in user") == true)
            #expect(ring.next() == nil)
            // An empty header is none.
            _ = try ring.call("f", "1", headers("", of: nil))
            #expect(try #require(ring.next()).head.idempotencyKey == nil)
        }
        try GatewayRing.with([Self.function(isTransactional: false, asksForKeys: true)]) { ring in
            _ = try ring.call("f", "1", headers("k", of: nil))
            #expect(try #require(ring.next()).head.idempotencyKey == "k")
        }
    }

    @Test func aKeyHas256BytesAtMost() throws {
        try GatewayRing.with([Self.function()]) { ring in
            #expect(try key(ring, key: String(repeating: "k", count: 256))?.key.utf8.count == 256)
            let refused = try ring.call("f", "1", ["Idempotency-Key": String(repeating: "k", count: 257)])
            #expect(refused.answer?.status == 400)
            #expect(ring.next() == nil)
        }
    }

    /// Scanning a large body, or sorting the keys of its data, takes long, for which the loop's other connections would
    /// wait.
    @Test(arguments: [(300_000, "", 1), (20_000, "k", 1), (300_000, "k", 2), (20_000, "", 0), (10_000, "k", 0)])
    func largeBodiesAreReadBesideTheLoop(bytes: Int, key: String, pieces: Int) throws {
        let waiting = Mutex<[@Sendable () -> Void]>([])
        let data = "\"\(String(repeating: "x", count: bytes))\""
        try GatewayRing.with(
            [Self.function()], longWork: { _, piece in waiting.withLock { $0.append(piece) } }
        ) { ring in
            _ = try ring.call("f", data, headers(key, of: "ada"))
            for _ in 0..<pieces {
                #expect(ring.next() == nil)
                let piece = try #require(waiting.withLock { $0.popLast() })
                piece()
                ring.run()
            }
            #expect(waiting.withLock { $0.isEmpty })
            #expect(try #require(ring.next()).text == data)
            let gone = try ring.call("f", data, headers(key, of: "ada"))
            gone.hangUp()
            guard pieces > 0 else { return }
            let piece = try #require(waiting.withLock { $0.popLast() })
            piece()
            ring.run()
            #expect(ring.next() == nil)
            #expect(waiting.withLock { $0.isEmpty })
        }
    }
}
