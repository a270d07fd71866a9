import DocumentModel
@testable import FirestoreClient
import HostTesting
import OutboundHTTP
import Synchronization
import TestSupport
import Testing
import TextFormats
@testable import TokenVerification
import WorkerProtocol
import _CryptoExtras

/// What other services answer, changed by its structure: keys of issuers, tokens of the metadata server, and answers of a
/// remote Firestore. Each is read or refused, never a trap, and asked for again only so many times.
@Suite(.endsHangs(afterWorking: FuzzRounds.seconds ?? 0)) struct IssuerFuzzTests {
    /// Answers each request with what a round makes of a real answer.
    private final class Changing: OutboundTransport {
        private struct State {
            var mutator: JSONMutator
            var count = 0
        }

        private static let maxRequests = 300

        private let state: Mutex<State>
        private let answers: @Sendable (OutboundRequest) -> OutboundResponse

        init(_ random: SeededGenerator, _ answers: @escaping @Sendable (OutboundRequest) -> OutboundResponse) {
            state = Mutex(State(mutator: JSONMutator(random)))
            self.answers = answers
        }

        var isExceeded: Bool { state.withLock { $0.count > Self.maxRequests } }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            let answer = answers(request)
            let changed: OutboundResponse? = state.withLock { state in
                state.count += 1
                guard state.count <= Self.maxRequests else { return nil }
                guard !state.mutator.bytes.random.once(in: 4) else { return answer }
                var changed = answer
                changed.body = state.mutator.mutated(String(decoding: answer.body, as: UTF8.self))
                changed.headers = answer.headers.mapValues { value in
                    let random = state.mutator.bytes.random.next()
                    if random % 3 == 0 { return value }
                    return random % 3 == 1
                        ? IssuerFuzzTests.changedAge(value, &state.mutator.bytes)
                        : String(decoding: state.mutator.bytes.mutated(Array(value.utf8)), as: UTF8.self)
                }
                if state.mutator.bytes.random.once(in: 8) {
                    changed.status = state.mutator.bytes.random.pick([
                        -1, 0, 199, 204, 400, 401, 409, 429, 503, 999, .max,
                    ])
                }
                return changed
            }
            guard let changed else { throw OutboundError(.timedOut, host: "test", "too many requests") }
            return changed
        }
    }

    /// A header's value with other numbers.
    private static func changedAge(_ value: String, _ mutator: inout ByteMutator) -> String {
        let parts = value.split(separator: "=", omittingEmptySubsequences: false)
        let number = "\(mutator.random.pick(ByteMutator.extremes))"
        return parts.count == 2 ? parts[0] + "=" + number : number
    }

    private static let issuer = TestIssuer.shared

    // MARK: Keys

    @Test func changedKeySetsAreReadOrRefused() async throws {
        let issuer = try Self.issuer.get()
        let numbers = try issuer.privateKey.publicKey.getKeyPrimitives()
        let certificates = """
            {"other":"\(issuer.key.certificate.split(separator: "\n").prefix(3).joined(separator: "\\n"))",\
            "\(issuer.key.keyID)":"\(issuer.key.certificate.split(separator: "\n").joined(separator: "\\n"))\\n"}
            """
        let set = """
            {"keys":[{"kty":"EC","kid":"other","crv":"P-256","x":"AQ","y":"Ag"},{"kty":"RSA","use":"sig","alg":"RS256",\
            "kid":"\(issuer.key.keyID)","n":"\(Base64URL.encode(numbers.modulus))",\
            "e":"\(Base64URL.encode(numbers.publicExponent))"}]}
            """
        let token = try issuer.token()
        let now = TestIssuer.start
        await FuzzRounds.run("key sets", count: 300) { random, seed in
            let isSet = random.once(in: 2)
            let headers = random.pick([
                ["Cache-Control": "public, max-age=19302, must-revalidate", "Age": "100"],
                ["cache-control": "max-age=600", "Expires": "Thu, 01 Dec 2033 16:00:00 GMT"], ["age": "7"],
            ])
            let transport = Changing(random) { _ in
                OutboundResponse(status: 200, headers: headers, body: Array((isSet ? set : certificates).utf8))
            }
            let source = RemoteKeySource(
                address: "https://issuer.test/keys", document: isSet ? .webKeySet : .certificates, transport: transport)
            var cache = KeyCacheState()
            for step in 0..<3 as Range<Int64> {
                _ = cache.begin(now: now + step)
                guard let fetched = try? await source.fetch() else {
                    cache.fail(now: now + step)
                    continue
                }
                #expect(fetched.maxAge >= 0, "seed \(seed)")
                cache.succeed(fetched, now: now + step)
                #expect(
                    cache.secondsUntilDue(now: now + step).map { (0...86_400).contains($0) } ?? false, "seed \(seed)")
                let verifier = TokenVerifier(
                    kind: .idToken(project: TestIssuer.project), policy: .production,
                    localKeys: LocalKeys(fetched.keys),
                    remoteKeys: nil, now: { now })
                _ = verifier.verify(token)
            }
        }
    }

    /// Tokens that an issuer has signed, whatever they say.
    @Test func changedTokensAreVerifiedOrRefused() async throws {
        let issuer = try Self.issuer.get()
        let now = TestIssuer.start
        let kinds: [(TokenKind, String)] = [
            (
                .idToken(project: TestIssuer.project),
                #"""
                {"iss":"https://securetoken.google.com/shop-prod","aud":"shop-prod","sub":"ada","user_id":"ada",
                "iat":\#(now - 10),"exp":\#(now + 3590),"auth_time":\#(now - 100),"firebase":{"sign_in_provider":"x"}}
                """#
            ),
            (
                .appCheck(project: TestIssuer.project),
                #"""
                {"iss":"https://firebaseappcheck.googleapis.com/1","sub":"1:1:ios:a","aud":["projects/1","projects/shop-prod"],
                "iat":\#(now - 10),"exp":\#(now + 3590)}
                """#
            ),
        ]
        try await FuzzRounds.run("tokens", count: 100) { random, _ in
            let (kind, claims) = random.pick(kinds)
            var mutator = JSONMutator(random)
            var token = try issuer.key.sign(claims: mutator.mutated(claims))
            if mutator.bytes.random.once(in: 3) {
                token = String(decoding: mutator.bytes.mutated(Array(token.utf8)), as: UTF8.self)
            }
            for policy in [TokenPolicy.production, .development] {
                let verifier = TokenVerifier(
                    kind: kind, policy: policy, localKeys: LocalKeys(issuer.key.keys), remoteKeys: nil, now: { now })
                _ = verifier.verify(token)
            }
        }
    }

    // MARK: The metadata server

    @Test func changedMetadataIsReadOrRefused() async {
        await FuzzRounds.run("the metadata server's answers", count: 300) { random, seed in
            let transport = Changing(random) { request in
                let isToken = request.address.hasSuffix("token")
                let answer =
                    isToken ? #"{"access_token":"one","expires_in":3599,"token_type":"Bearer"}"# : "shop-prod\n"
                return OutboundResponse(status: 200, headers: ["Metadata-Flavor": "Google"], body: Array(answer.utf8))
            }
            let clock = ManualClock()
            let tokens = AccessTokens(host: "metadata.test", transport: transport, now: { clock.timestamp().seconds })
            for _ in 0..<3 {
                let token = try? await tokens.token()
                _ = try? await tokens.token(insteadOf: token)
                clock.advance(by: .seconds(1800))
            }
            _ = try? await MetadataServer([:], transport: transport).project()
            #expect(!transport.isExceeded, "seed \(seed)")
        }
    }

    // MARK: A remote Firestore

    private static let root = "projects/demo-shop/databases/(default)/documents"
    private static let time = "1970-01-01T00:00:01.000001Z"

    private static func document(_ path: String) -> String {
        """
        {"name":"\(root)/\(path)","fields":{"n":{"integerValue":"3"},"d":{"doubleValue":1.5},"s":{"stringValue":"x"},\
        "t":{"timestampValue":"\(time)"},"b":{"bytesValue":"AAEC"},"g":{"geoPointValue":{"latitude":1,"longitude":2}},\
        "r":{"referenceValue":"\(root)/c/b"},"a":{"arrayValue":{"values":[{"nullValue":null},{"booleanValue":true}]}},\
        "m":{"mapValue":{"fields":{"x":{"integerValue":"-1"}}}}},"createTime":"\(time)","updateTime":"\(time)"}
        """
    }

    private static let metrics = """
        {"planSummary":{"indexesUsed":[{"query_scope":"Collection","properties":"(n ASC, __name__ ASC)"}]},\
        "executionStats":{"resultsReturned":"1","executionDuration":"0.001500s","readOperations":"1",\
        "debugStats":{"index_entries_scanned":"5","documents_scanned":"1"}}}
        """

    private static let answers: [(verb: String, answer: String)] = [
        (
            ":batchGet",
            """
            [{"transaction":"dHg=","readTime":"\(time)"},{"found":\(document("c/a")),"readTime":"\(time)"},\
            {"missing":"\(root)/c/b","readTime":"\(time)"}]
            """
        ),
        (":runQuery", #"[{"document":\#(document("c/a")),"readTime":"\#(time)"},{"explainMetrics":\#(metrics)}]"#),
        (
            ":runAggregationQuery",
            """
            [{"result":{"aggregateFields":{"field_1":{"integerValue":"2"},"field_2":{"doubleValue":"NaN"}}},\
            "readTime":"\(time)"},{"explainMetrics":\(metrics)}]
            """
        ),
        (
            ":partitionQuery",
            """
            {"partitions":[{"values":[{"referenceValue":"\(root)/c/a"}],"before":true},\
            {"values":[{"referenceValue":"\(root)/c/b"}]}],"nextPageToken":"more"}
            """
        ),
        (
            "&showMissing=true&mask.fieldPaths=__name__",
            #"{"documents":[\#(document("c/a")),{"name":"\#(root)/c/b"}],"nextPageToken":"more"}"#
        ),
        (":beginTransaction", #"{"transaction":"dHg="}"#),
        (
            ":commit",
            """
            {"commitTime":"\(time)","writeResults":[{"updateTime":"\(time)","transformResults":[{"integerValue":"1"}]}]}
            """
        ),
        (
            ":batchWrite",
            #"""
            {"writeResults":[{"updateTime":"\#(time)"},{}],"status":[{},{"code":5,"message":"no document"}]}
            """#
        ),
        (":rollback", "{}"),
    ]

    @Test func changedAnswersOfAServiceAreReadOrRefused() async throws {
        let a = try DocumentPath("c/a")
        let n = FieldPath(segments: ["n"])
        let set = Write(path: a, operation: .set(["n": .integer(1)]))
        let counted = Write(
            path: a, operation: .update([:], mask: []), transforms: [FieldTransform(n, .increment(.integer(1)))])
        var group = Query(collectionID: "c", allDescendants: true)
        group.orderBy = [.init(.documentID)]
        let query = Query(collectionID: "c")
        let fields: [AggregateField] = [.count(upTo: nil), .average(n)]
        let search = try VectorSearch(
            field: n, vector: [1], measure: .euclidean, limit: 1, resultField: nil, threshold: nil)
        let id = TransactionID(rawValue: 1)
        let requests: [DocumentRequest] = [
            .get([a, try DocumentPath("c/b")], .strong), .query(query, .strong), .aggregate(query, fields, .strong),
            .nearest(search, of: query, .strong), .list(DocumentListing(try CollectionPath("c"))),
            .explain(query, [], analyze: true, .strong), .explain(query, fields, analyze: true, .strong),
            .partition(group, points: 40, .strong), .begin(.readOnly(at: nil)), .batchWrite([set, counted]),
            .commit([counted], transaction: nil, completing: nil), .rollback(id),
        ]
        let answers = Self.answers
        await FuzzRounds.run("a service's answers", count: 300) { random, seed in
            let transport = Changing(random) { request in
                let answer = answers.first { request.address.hasSuffix($0.verb) }?.answer ?? "{}"
                return OutboundResponse(status: 200, body: Array(answer.utf8))
            }
            let firestore = RemoteFirestore(
                service: FirestoreService(
                    database: DatabaseID(project: "demo-shop"), origin: "https://firestore.test", transport: transport,
                    tokens: nil, pause: { _ in }),
                now: { Timestamp(microseconds: 9_000_000) })
            for request in requests where random.once(in: 3) {
                // What a worker receives.
                _ = await request.perform(on: FunctionBackends(documents: firestore)).encoded
            }
            let key = CompletionKey(scope: "f/ada", key: "1", fingerprint: [1])
            let context = OperationContext(owner: 7, completion: random.once(in: 2) ? key : nil)
            let begun = await DocumentRequest.begin(.readWrite(retrying: nil)).perform(
                on: FunctionBackends(documents: firestore), in: context)
            if case .began(let id, _) = begun {
                _ = await DocumentRequest.get([a], .transaction(id)).perform(
                    on: FunctionBackends(documents: firestore), in: context
                ).encoded
                let commit = DocumentRequest.commit([counted], transaction: id, completing: [1])
                _ = await commit.perform(on: FunctionBackends(documents: firestore), in: context).encoded
                _ = await DocumentRequest.rollback(id).perform(on: FunctionBackends(documents: firestore), in: context)
                    .encoded
            }
            await firestore.shutdown()
            #expect(!transport.isExceeded, "seed \(seed)")
        }
    }
}
