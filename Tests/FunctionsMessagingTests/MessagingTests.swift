import FunctionsHTTPClient
import FunctionsRuntime
import FunctionsTesting
import Synchronization
import TestSupport
import Testing
import TextFormats
import _CryptoExtras

@testable import FunctionsMessaging

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

private struct Pusher: FunctionBundle {
    static let account = defineSecret("ACCOUNT")

    var functions: [Function] {
        onCall("push", .secrets(Self.account)) { (request: CallableRequest<[String]>) in
            let messages = request.data.map {
                Message(token: $0, notification: .init(title: "Hello"), data: ["id": "7"], apns: ["headers": [:]])
            }
            let responses = try await Messaging(account: Self.account.value).sendEach(messages)
            return responses.map { $0.messageID ?? $0.error?.code.rawValue ?? "" }
        }

        onCall("announce", .secrets(Self.account)) { (request: CallableRequest<String>) in
            try await Messaging(account: Self.account.value).send(Message(topic: request.data), dryRun: true)
        }
    }
}

@Suite struct MessagingTests {
    private static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    private static func account(tokens: String = "https://token.example/token") throws -> String {
        let fields: JSONValue = [
            "project_id": "shop", "client_email": "push@shop.example", "token_uri": .string(tokens),
            "private_key": .string(try key.get().pemRepresentation),
        ]
        return "\(fields)"
    }

    /// What FCM answers to a token of this name.
    private static func answer(_ token: String?) throws -> HTTPResponse {
        func failure(_ status: Int, _ name: String, _ code: String?) throws -> HTTPResponse {
            let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
            let details: JSONValue = code.map { [["@type": .string(type), "errorCode": .string($0)]] } ?? []
            let error: JSONValue = [
                "code": .integer(Int64(status)), "message": "no", "status": .string(name), "details": details,
            ]
            return try .json(["error": error] as JSONValue, status: status)
        }
        switch token {
        case "gone": return try failure(404, "NOT_FOUND", "UNREGISTERED")
        case "wrongProject": return try failure(404, "NOT_FOUND", nil)
        case "malformed": return try failure(400, "INVALID_ARGUMENT", nil)
        case "busy": return try failure(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
        case "strange": return .text("<html>", status: 502)
        case "silent": throw FetchError(.timedOut, "no answer", url: "")
        case "many": return .text("{}", status: 429, headers: ["Retry-After": "30"])
        default: return try .json(["name": JSONValue.string("projects/shop/messages/\(token ?? "topic")")])
        }
    }

    @Test func eachMessageHasAResponse() async throws {
        let tester = try FunctionsTester(Pusher(), secrets: ["ACCOUNT": try Self.account()])
        let requests = Mutex<[FetchRequest]>([])
        let answers: [String] = try await withFetch { request in
            requests.withLock { $0.append(request) }
            if request.url == "https://token.example/token" {
                return try .json(["access_token": JSONValue.string("t1"), "expires_in": 3600])
            }
            let body: JSONValue = try request.json()
            return try Self.answer(body["message"]?["token"]?.stringValue)
        } run: { () async throws in
            try await tester.call("push", ["phone", "gone", "wrongProject", "malformed", "busy", "strange"])
        }
        #expect(
            answers == [
                "projects/shop/messages/phone", "UNREGISTERED", "UNSPECIFIED_ERROR", "INVALID_ARGUMENT",
                "QUOTA_EXCEEDED", "UNAVAILABLE",
            ])
        let sent = requests.withLock { $0 }
        #expect(sent.count == 7)
        let message = try #require(sent.first { $0.text.contains("phone") })
        #expect(message.url == "https://fcm.googleapis.com/v1/projects/shop/messages:send")
        #expect(message.headers["Authorization"] == "Bearer t1")
        #expect(
            try message.json(as: JSONValue.self) == [
                "message": [
                    "token": "phone", "notification": ["title": "Hello"], "data": ["id": "7"],
                    "apns": ["headers": [:]],
                ],
                "validate_only": false,
            ])
    }

    @Test func oneMessageThatIsNotAcceptedIsAnError() async throws {
        let account = try Self.account()
        let messaging = try Messaging(account: account, url: "https://fcm.example")
        try await withFetch { request in
            if request.url.hasSuffix("/token") {
                return try .json(["access_token": JSONValue.string("t1"), "expires_in": 3600])
            }
            let body: JSONValue = try request.json()
            #expect(request.url == "https://fcm.example/v1/projects/shop/messages:send")
            return try Self.answer(body["message"]?["token"]?.stringValue)
        } run: { () async throws in
            #expect(try await messaging.send(Message(topic: "news")) == "projects/shop/messages/topic")
            let error = await #expect(throws: MessagingError.self) { try await messaging.send(Message(token: "gone")) }
            #expect(error?.code == .unregistered && error?.message == "no")
            #expect(try await messaging.sendEach([]).isEmpty)
            let silent = try await messaging.sendEach([Message(token: "silent"), Message(token: "many")])
            #expect(silent.map(\.error?.code) == [.unavailable, .quotaExceeded])
            #expect(silent.last?.error?.retryAfter == .seconds(30))
        }
    }

    /// It may have been revoked, and would be kept for most of an hour.
    @Test(.endsHangs) func aRefusedTokenIsNotUsedAgain() async throws {
        let tokens = Mutex<[String]>([])
        try await ScriptedServer.run { connection in
            while true {
                let request = try await connection.request()
                guard !request.isEmpty else { return }
                var (status, body) = ("200 OK", #"{"name":"m"}"#)
                if request.hasPrefix("POST /token ") {
                    let number = tokens.withLock { tokens in
                        tokens.append("t\(tokens.count + 1)")
                        return tokens.count
                    }
                    body = #"{"access_token":"t\#(number)","expires_in":3600}"#
                } else if request.contains(#""apple""#) {
                    let details = #"[{"errorCode":"THIRD_PARTY_AUTH_ERROR"}]"#
                    body = #"{"error":{"status":"UNAUTHENTICATED","details":\#(details)}}"#
                    status = "401 Unauthorized"
                } else if !request.contains("Bearer t2") {
                    (status, body) = ("401 Unauthorized", #"{"error":{"status":"UNAUTHENTICATED"}}"#)
                }
                try await connection.send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        } body: { address in
            let url = String(address.prefix(while: { $0 != "?" }).dropLast("/path".count))
            let messaging = try Messaging(account: try Self.account(tokens: url + "/token"), url: url)
            let error = await #expect(throws: MessagingError.self) { try await messaging.send(Message(topic: "a")) }
            #expect(error?.code == .unauthenticated)
            for _ in 0..<2 {
                let name = try await messaging.send(Message(topic: "a"))
                #expect(name == "m")
                // It isn't the token that is refused.
                let error = await #expect(throws: MessagingError.self) {
                    try await messaging.send(Message(topic: "apple"))
                }
                #expect(error?.code == .thirdPartyAuthError)
            }
        }
        #expect(tokens.withLock { $0 } == ["t1", "t2"])
    }

    /// Only a refusal means that the account is wrong.
    @Test(arguments: [503, 429]) func anUnavailableTokenServiceIsToldApart(status: Int) async throws {
        let messaging = try Messaging(account: try Self.account())
        try await withFetch { _ in
            .text("", status: status)
        } run: { () async throws in
            let error = await #expect(throws: MessagingError.self) { try await messaging.send(Message(token: "a")) }
            #expect(error?.code == .unavailable)
        }
    }

    @Test func theKeyIsNotPrinted() throws {
        let messaging = try Messaging(account: try Self.account())
        #expect(!"\(messaging)".contains("PRIVATE KEY") && "\(messaging)".contains("push@shop.example"))
    }

    @Test func withoutAnAccessTokenNothingIsSent() async throws {
        let messaging = try Messaging(account: try Self.account())
        let requests = Mutex(0)
        try await withFetch { request in
            requests.withLock { $0 += 1 }
            return .text(#"{"error":"invalid_grant"}"#, status: 400)
        } run: { () async throws in
            let error = await #expect(throws: MessagingError.self) {
                try await messaging.sendEach([Message(token: "a"), Message(token: "b")])
            }
            #expect(error?.code == .unauthenticated && error?.message.contains("invalid_grant") == true)
        }
        #expect(requests.withLock { $0 } == 1)
    }

    /// The assertion is what a Google token endpoint expects (RFC 7523).
    @Test func theAssertionIsSignedByTheAccount() throws {
        let account = try ServiceAccount(json: try Self.account())
        let parts = try account.assertion(scopes: ["a", "b"], at: Timestamp(seconds: 1000, nanoseconds: 0)).split(
            separator: ".")
        try #require(parts.count == 3)
        let claims = try JSONValue(parsing: #require(Base64URL.decode(parts[1].utf8)))
        #expect(
            claims == [
                "iss": "push@shop.example", "scope": "a b", "aud": "https://token.example/token", "iat": 1000,
                "exp": 4600,
            ])
        let signature = _RSA.Signing.RSASignature(rawRepresentation: try #require(Base64URL.decode(parts[2].utf8)))
        #expect(
            try Self.key.get().publicKey.isValidSignature(
                signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
    }

    @Test(arguments: [
        ("", "it isn't a JSON object"), ("[]", "it isn't a JSON object"), ("{}", "project_id: expected a text"),
        (#"{"project_id":"p","client_email":"e","private_key":7}"#, "private_key: expected a text"),
    ])
    func aKeyFileThatCannotBeOneIsNamed(json: String, reason: String) {
        let error = #expect(throws: ServiceAccountError.self) { try Messaging(account: json) }
        #expect(error?.message == reason)
    }

    @Test func aMalformedKeyIsNotShown() throws {
        let account = try ServiceAccount(
            json: #"{"project_id":"p","client_email":"e","private_key":"s3cret","token_uri":"https://t.example"}"#)
        let error = #expect(throws: ServiceAccountError.self) { try account.assertion(scopes: [], at: .now) }
        #expect(error.map { "\($0)" } == "the service account: private_key: it isn't an RSA key in PEM")
    }
}
