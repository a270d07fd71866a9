import DocumentModel
import FunctionManifest
import HostTesting
import Testing
import WorkerProtocol
import WorkerTesting

/// The key under which a transactional function's answer is kept.
@Suite struct IdempotencyKeyTests {
    private static func function(isTransactional: Bool = true) -> FunctionManifest {
        var manifest = FunctionManifest.callable("f")
        manifest.isTransactional = isTransactional
        return manifest
    }

    /// Calls with a key, and returns what the call's operations are done under.
    private func key(
        _ ring: GatewayRing, user: String? = nil, _ data: String = "1", key: String = "k"
    ) throws -> CompletionKey? {
        var headers = ["Idempotency-Key": key]
        if let user {
            let project = GatewayRing.project
            let claims: TestIssuer.Claims = [
                "iss": "https://securetoken.google.com/\(project)", "aud": project, "sub": user, "user_id": user,
            ]
            headers["Authorization"] = "Bearer \(try TestIssuer.unsigned(claims))"
        }
        _ = try ring.call("f", data, headers)
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

    @Test func onlyTransactionalFunctionsKeepAnswers() throws {
        try GatewayRing.with([Self.function(isTransactional: false)]) { ring in
            let key = try key(ring)
            #expect(key == nil)
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
}
