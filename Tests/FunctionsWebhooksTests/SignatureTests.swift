import Crypto
import FunctionsRuntime
import FunctionsTesting
import FunctionsWebhooks
import Testing
import TextFormats

private struct Hooks: FunctionBundle {
    static let key = defineSecret("KEY")
    private static let schemes: [(String, WebhookScheme)] = [
        ("stripe", .stripe), ("github", .github), ("slack", .slack), ("shopify", .shopify), ("standard", .standard),
        ("own", .hmacSHA256(header: "X-Signature", prefix: "v1:", encoding: .base64)),
    ]

    var functions: [Function] {
        for (name, scheme) in Self.schemes {
            onRequest(name, .secrets(Self.key)) { request in
                try request.verifySignature(scheme, key: Self.key.value)
                return .text("accepted")
            }
        }
    }
}

@Suite struct SignatureTests {
    private static let schemes = ["stripe", "github", "slack", "shopify", "standard", "own"]
    private static let timed = ["stripe", "slack", "standard"]
    private static let body = #"{"id":"évt_1"}"#

    /// The key as each service shows it, and the bytes that it stands for.
    private static func key(of scheme: String) -> (text: String, bytes: [UInt8]) {
        let bytes = Array("a key of some bytes".utf8)
        return scheme == "standard" ? ("whsec_" + Base64.encode(bytes), bytes) : ("a key of some bytes", bytes)
    }

    private static func tester(
        _ scheme: String, key: String? = nil, startingAt start: Timestamp? = nil
    ) throws -> FunctionsTester {
        try FunctionsTester(Hooks(), startingAt: start, secrets: ["KEY": key ?? Self.key(of: scheme).text])
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The headers that a service would send.
    private static func headers(
        _ scheme: String, at seconds: Int64, body: String = Self.body, key: [UInt8]? = nil
    ) -> Headers {
        let key = SymmetricKey(data: key ?? Self.key(of: scheme).bytes)
        func code(_ text: String) -> [UInt8] {
            Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
        }
        switch scheme {
        case "stripe":
            return ["Stripe-Signature": "t=\(seconds),v0=aa,v1=00ff,v1=\(hexadecimal(code("\(seconds).\(body)")))"]
        case "github": return ["X-Hub-Signature-256": "sha256=\(hexadecimal(code(body)))"]
        case "slack":
            return [
                "X-Slack-Signature": "v0=\(hexadecimal(code("v0:\(seconds):\(body)")))",
                "X-Slack-Request-Timestamp": "\(seconds)",
            ]
        case "own": return ["X-Signature": "v1:" + Base64.encode(code(body))]
        case "shopify": return ["X-Shopify-Hmac-SHA256": Base64.encode(code(body))]
        default:
            return [
                "webhook-id": "msg_1", "webhook-timestamp": "\(seconds)",
                "webhook-signature": "v1a,x v1,AAAA v1,\(Base64.encode(code("msg_1.\(seconds).\(body)")))",
            ]
        }
    }

    private static func status(
        _ scheme: String, of tester: FunctionsTester, _ headers: Headers, body: String = Self.body
    ) async throws -> Int {
        try await tester.request(scheme, method: "POST", headers: headers, body: Array(body.utf8)).status
    }

    @Test(arguments: schemes)
    func aSignedRequestIsAcceptedAndAChangedOneIsNot(scheme: String) async throws {
        let tester = try Self.tester(scheme)
        let headers = Self.headers(scheme, at: tester.now.seconds)
        #expect(try await Self.status(scheme, of: tester, headers) == 200)
        #expect(try await Self.status(scheme, of: tester, headers, body: Self.body + " ") == 401)
        #expect(try await Self.status(scheme, of: tester, [:]) == 401)
        let other = Self.headers(scheme, at: tester.now.seconds, key: [1, 2, 3])
        #expect(try await Self.status(scheme, of: tester, other) == 401)
    }

    @Test(arguments: timed)
    func anOldOrFutureRequestIsNotAccepted(scheme: String) async throws {
        let tester = try Self.tester(scheme)
        let now = tester.now.seconds
        for (seconds, status) in [(now - 300, 200), (now + 300, 200), (now - 302, 401), (now + 302, 401)] {
            #expect(try await Self.status(scheme, of: tester, Self.headers(scheme, at: seconds)) == status)
        }
        #expect(try await Self.status(scheme, of: tester, Self.headers(scheme, at: .min)) == 401)
    }

    @Test(arguments: [
        ("stripe", "Stripe-Signature", ["", "t=1", "t=x,v1=ff", "v1=ff", "t=1,v1=f", "t=1,v1=zz", ",=,"]),
        ("github", "X-Hub-Signature-256", ["", "sha256=", "sha256=f", "sha1=ff", "sha256=é0"]),
        ("shopify", "X-Shopify-Hmac-SHA256", ["", "a", "AAAA"]),
        ("slack", "X-Slack-Signature", ["", "v0=ff"]),
        ("standard", "webhook-signature", ["", "v1,AAAA", "v1"]),
    ])
    func aMalformedSignatureIsNotAccepted(scheme: String, name: String, values: [String]) async throws {
        let tester = try Self.tester(scheme)
        for value in values { #expect(try await Self.status(scheme, of: tester, [name: value]) == 401) }
    }

    /// The example of the Standard Webhooks specification's reference libraries.
    @Test func aPublishedExampleIsAccepted() async throws {
        let tester = try Self.tester(
            "standard", key: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            startingAt: Timestamp(seconds: 1_614_265_330, nanoseconds: 0))
        let headers: Headers = [
            "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "svix-timestamp": "1614265330",
            "svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        ]
        #expect(try await Self.status("standard", of: tester, headers, body: #"{"test": 2432232314}"#) == 200)
    }

    /// GitHub's documentation has this example.
    @Test func anotherPublishedExampleIsAccepted() async throws {
        let tester = try Self.tester("github", key: "It's a Secret to Everybody")
        let headers: Headers = [
            "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        ]
        #expect(try await Self.status("github", of: tester, headers, body: "Hello, World!") == 200)
    }

    @Test(arguments: [("standard", "whsec_?"), ("standard", "whsec_"), ("stripe", "")])
    func aTextThatCannotBeAKeyIsTheAuthorsMistake(scheme: String, key: String) async throws {
        let tester = try Self.tester(scheme, key: key)
        #expect(try await Self.status(scheme, of: tester, Self.headers(scheme, at: tester.now.seconds)) == 500)
    }
}
