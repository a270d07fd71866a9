import DocumentModel
@testable import FirestoreClient
import Foundation
import HostProcess
@testable import IdentityToolkitClient
import OutboundHTTP
import StrictJSON
import Synchronization
import TestSupport
import Testing
import TextFormats
import TokenVerification
import UserModel
import _CryptoExtras

/// Stands in for Google: the metadata server, the token server, IAM and Identity Toolkit.
final class ScriptedGoogle: OutboundTransport {
    typealias Answer = Result<OutboundResponse, OutboundError>

    /// Answers by a part of the address, in order; the last one is given again and again.
    private let answers: Mutex<[String: [Answer]]>
    private let requests = Mutex<[OutboundRequest]>([])

    init(_ answers: [String: [Answer]]) {
        var all = answers
        all["/service-accounts/default/token"] =
            answers["/service-accounts/default/token"] ?? [.json(#"{"access_token":"access","expires_in":3600}"#)]
        self.answers = Mutex(all)
    }

    var seen: [OutboundRequest] { requests.withLock { $0 } }

    /// Those for users.
    var userRequests: [OutboundRequest] { seen.filter { $0.address.contains("/projects/demo/accounts") } }

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        requests.withLock { $0.append(request) }
        let answer = answers.withLock { answers -> Answer? in
            guard let key = answers.keys.filter({ request.address.contains($0) }).max(by: { $0.count < $1.count }),
                let all = answers[key], let first = all.first
            else { return nil }
            if all.count > 1 { answers[key] = Array(all.dropFirst()) }
            return first
        }
        guard let answer else { throw OutboundError(.notSent, host: "google.test", "no such address") }
        return try answer.get()
    }
}

extension Result where Success == OutboundResponse, Failure == OutboundError {
    static func json(_ text: String, status: Int = 200) -> Self {
        .success(OutboundResponse(status: status, body: Array(text.utf8)))
    }

    static func failure(_ kind: OutboundError.Kind) -> Self {
        .failure(OutboundError(kind, host: "google.test", "why"))
    }

    static func refusal(_ message: String, status: Int = 400) -> Self {
        json(#"{"error":{"code":\#(status),"message":"\#(message)"}}"#, status: status)
    }
}

@Suite struct RemoteUsersTests {
    private static let users = "identitytoolkit.googleapis.com/v1/projects/demo/accounts"

    private static func remote(
        _ google: ScriptedGoogle, environment: [String: String] = [:]
    ) throws -> RemoteUsers {
        try RemoteUsers(
            project: "demo", environment: environment, transport: google, now: { 1_000_000 }, pause: { _ in })
    }

    private static func perform(
        _ users: RemoteUsers, _ operation: UserRequest.Operation, _ body: String,
        in context: OperationContext = OperationContext()
    ) async -> Result<String, UserFailure> {
        await withCheckedContinuation { continuation in
            users.perform(UserRequest(operation, body: Array(body.utf8)), in: context) { result in
                continuation.resume(returning: result.map { String(decoding: $0, as: UTF8.self) })
            }
        }
    }

    @Test(arguments: [
        (UserRequest.Operation.create, ""), (.lookUp, ":lookup"), (.update, ":update"), (.delete, ":delete"),
        (.deleteBatch, ":batchDelete"), (.mailLink, ":sendOobCode"),
    ])
    func operationsArePostedWithTheServiceAccountsToken(operation: UserRequest.Operation, method: String) async throws {
        let google = ScriptedGoogle(["/accounts": [.json(#"{"localId":"ada"}"#)]])
        let body = #"{"localId":"ada"}"#
        #expect(await Self.perform(try Self.remote(google), operation, body) == .success(#"{"localId":"ada"}"#))
        let request = try #require(google.userRequests.first)
        #expect(request.address == "https://\(Self.users)\(method)")
        #expect(request.headers["Authorization"] == "Bearer access")
        #expect(request.body.map { String(decoding: $0, as: UTF8.self) } == body)
    }

    @Test func listsAreGotWithParameters() async throws {
        let google = ScriptedGoogle([":batchGet": [.json("{}")]])
        let body = #"{"maxResults":100,"nextPageToken":"a b&c"}"#
        #expect(await Self.perform(try Self.remote(google), .list, body) == .success("{}"))
        let request = try #require(google.userRequests.first)
        #expect(request.address == "https://\(Self.users):batchGet?maxResults=100&nextPageToken=a%20b%26c")
        #expect(request.body == nil)
    }

    @Test(arguments: [
        (#"{"error":{"code":400,"message":"EMAIL_EXISTS"}}"#, 400, "EMAIL_EXISTS"),
        (#"{"error":{"message":"WEAK_PASSWORD : Password is short"}}"#, 400, "WEAK_PASSWORD : Password is short"),
        (
            #"{"error":{"message":"The caller lacks it","status":"PERMISSION_DENIED"}}"#, 403,
            "PERMISSION_DENIED : The caller lacks it"
        ),
        (
            #"{"error":{"message":"Invalid JSON payload","status":"INVALID_ARGUMENT"}}"#, 400,
            "INVALID_ARGUMENT : Invalid JSON payload"
        ),
        ("<html>", 404, "status 404"),
    ])
    func refusalsKeepTheirNames(answer: String, status: Int, expected: String) async throws {
        let google = ScriptedGoogle(["/accounts": [.json(answer, status: status)]])
        #expect(await Self.perform(try Self.remote(google), .create, "{}") == .failure(.refused(expected)))
        #expect(google.userRequests.count == 1)
    }

    @Test func aTokenThatIsRefusedIsReplacedOnce() async throws {
        let google = ScriptedGoogle([
            "/service-accounts/default/token": [
                .json(#"{"access_token":"old","expires_in":3600}"#),
                .json(#"{"access_token":"new","expires_in":3600}"#),
            ], "/accounts": [.json("", status: 401), .json("{}")],
        ])
        #expect(await Self.perform(try Self.remote(google), .delete, "{}") == .success("{}"))
        #expect(google.userRequests.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
    }

    /// A change whose answer was lost may have been made, and isn't made twice.
    @Test func onlyReadsAreRepeatedWhenTheirAnswersAreLost() async throws {
        for (operation, attempts) in [(UserRequest.Operation.lookUp, 3), (.update, 1)] {
            let google = ScriptedGoogle(["/accounts": [.failure(.lost)]])
            let result = await Self.perform(try Self.remote(google), operation, "{}")
            guard case .failure(.failed(let error)) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(error.code == .unavailable)
            #expect(error.message.hasSuffix("the change may have been made") == (operation == .update))
            #expect(google.userRequests.count == attempts)
        }
        let google = ScriptedGoogle(["/accounts": [.failure(.notSent), .json("", status: 503), .json("{}")]])
        #expect(await Self.perform(try Self.remote(google), .lookUp, "{}") == .success("{}"))
    }

    @Test func nothingIsSentForACallerWhoHasLeft() async throws {
        let google = ScriptedGoogle(["/accounts": [.json("{}")]])
        let cancellation = OperationCancellation()
        cancellation.cancel()
        let context = OperationContext(cancellation: cancellation)
        #expect(
            await Self.perform(try Self.remote(google), .delete, "{}", in: context) == .failure(.failed(.callerLeft)))
        #expect(google.seen.isEmpty)
    }

    /// Answers one request after the other, once it is asked to.
    private final class SteppedService: OutboundTransport {
        /// The bodies of the requests.
        let seen: AsyncStream<String>
        private let see: AsyncStream<String>.Continuation
        private let steps: AsyncStream<Void>
        private let step: AsyncStream<Void>.Continuation

        init() {
            (seen, see) = AsyncStream.makeStream()
            (steps, step) = AsyncStream.makeStream()
        }

        func answer() { step.yield() }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            see.yield(String(decoding: request.body ?? [], as: UTF8.self))
            for await _ in steps { break }
            return OutboundResponse(status: 200, body: Array("{}".utf8))
        }
    }

    @Test(.endsHangs) func anInvocationWithManyRequestsDoesNotHoldUpOthers() async {
        let service = SteppedService()
        let users = RemoteUsers(
            project: "demo", origin: "http://auth.test", transport: service, tokens: nil,
            signer: CustomTokenSigner(key: .none, now: { 0 }), places: 1, pause: { _ in })
        let (many, one) = (#"{"localId":["ada"]}"#, #"{"localId":["bob"]}"#)
        let (count, own) = (2 * RemoteOperations.maxRequests, RemoteOperations.maxRequests)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { _ = await Self.perform(users, .lookUp, many, in: OperationContext(owner: 7)) }
            }
            var seen = service.seen.makeAsyncIterator()
            let first = await seen.next()
            #expect(first == many)
            group.addTask { _ = await Self.perform(users, .lookUp, one, in: OperationContext(owner: 8)) }
            // All that the one may have, without the first, and the other's.
            while users.waiterCount != own { await Task.yield() }
            var next: [String] = []
            for _ in 0..<own {
                service.answer()
                if let body = await seen.next() { next.append(body) }
            }
            #expect(next.contains(one))
            for _ in own...count { service.answer() }
        }
    }

    /// Identity Toolkit may take a minute for each, or never answer.
    @Test(.endsHangs) func anInvocationThatIsOverLeavesItsPlacesToOthers() async {
        let service = SteppedService()
        let users = RemoteUsers(
            project: "demo", origin: "http://auth.test", transport: service, tokens: nil,
            signer: CustomTokenSigner(key: .none, now: { 0 }), places: 1, pause: { _ in })
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await Self.perform(users, .lookUp, "{}", in: OperationContext(owner: 7)) }
            var seen = service.seen.makeAsyncIterator()
            let first = await seen.next()
            #expect(first == "{}")
            let other = #"{"localId":["bob"]}"#
            group.addTask { _ = await Self.perform(users, .lookUp, other, in: OperationContext(owner: 8)) }
            while users.waiterCount != 1 { await Task.yield() }
            users.release(owner: 7)
            let next = await seen.next()
            #expect(next == other)
            service.answer()
        }
    }

    // MARK: An emulator

    @Test func anEmulatorIsReachedAsItsOwner() async throws {
        let google = ScriptedGoogle(["/accounts": [.json("{}")]])
        let users = try Self.remote(google, environment: ["FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:9099"])
        #expect(await Self.perform(users, .lookUp, "{}") == .success("{}"))
        let request = try #require(google.seen.first)
        #expect(request.address == "http://127.0.0.1:9099/\(Self.users):lookup")
        #expect(request.headers["Authorization"] == "Bearer owner")
        let payload = try await Self.payload(
            of: Self.perform(users, .customToken, #"{"uid":"ada"}"#), isSigned: false)
        #expect(payload["uid"] == "ada")
        #expect(google.seen.count == 1)
    }

    // MARK: Custom tokens

    private static func payload(of answer: Result<String, UserFailure>, isSigned: Bool) throws -> JSONValue {
        let token = try #require(try JSONValue(parsing: Array(answer.get().utf8))["token"]?.stringValue)
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        #expect(parts[2].isEmpty != isSigned)
        return try JSONValue(parsing: try #require(Base64URL.decode(parts[1].utf8)))
    }

    @Test func customTokensAreSignedByIAM() async throws {
        let google = ScriptedGoogle([
            "/service-accounts/default/email": [.json("shop@demo.iam.gserviceaccount.com\n")],
            ":signBlob": [.json(#"{"signedBlob":"AQID"}"#)],
        ])
        let answer = await Self.perform(
            try Self.remote(google), .customToken, #"{"uid":"ada","claims":{"first_name":"Ada"}}"#)
        let payload = try Self.payload(of: answer, isSigned: true)
        #expect(payload["iss"] == "shop@demo.iam.gserviceaccount.com")
        #expect(payload["sub"] == payload["iss"])
        #expect(payload["exp"] == 1_003_600)
        #expect(payload["claims"] == ["first_name": "Ada"])
        #expect(try answer.get().hasSuffix(#".AQID"}"#))
        let request = try #require(google.seen.first { $0.address.hasSuffix(":signBlob") })
        #expect(request.address.contains("/v1/projects/-/serviceAccounts/shop%40demo.iam.gserviceaccount.com"))
        #expect(request.headers["Authorization"] == "Bearer access")
    }

    @Test func anAccessTokenThatIAMRefusesIsReplaced() async throws {
        let google = ScriptedGoogle([
            "/service-accounts/default/email": [.json("shop@demo.iam.gserviceaccount.com")],
            "/service-accounts/default/token": [
                .json(#"{"access_token":"old","expires_in":3600}"#),
                .json(#"{"access_token":"new","expires_in":3600}"#),
            ],
            ":signBlob": [.json("{}", status: 401), .json(#"{"signedBlob":"AQID"}"#)],
        ])
        let answer = await Self.perform(try Self.remote(google), .customToken, #"{"uid":"ada"}"#)
        #expect(try answer.get().hasSuffix(#".AQID"}"#))
        let signatures = google.seen.filter { $0.address.hasSuffix(":signBlob") }
        #expect(signatures.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
    }

    @Test(arguments: [429, 500, 503]) func aSignatureThatIAMCanNotMakeNowIsUnavailable(status: Int) async throws {
        let google = ScriptedGoogle([
            "/service-accounts/default/email": [.json("shop@demo.iam.gserviceaccount.com")],
            ":signBlob": [.json("{}", status: status)],
        ])
        let answer = await Self.perform(try Self.remote(google), .customToken, #"{"uid":"ada"}"#)
        guard case .failure(.failed(let error)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == .unavailable)
        #expect(error.message.contains("signBlob returned status \(status)"))
    }

    private static let account = "/service-accounts/default/email"
    private static let named = ScriptedGoogle.Answer.json("shop@demo.iam.gserviceaccount.com")
    private static let unavailable = ScriptedGoogle.Answer.json("", status: 503)

    /// None of these is an error of the configuration, which signing again wouldn't change.
    @Test(
        arguments: [
            [account: named, ":signBlob": .failure(.notSent)],
            [account: named, "/service-accounts/default/token": unavailable],
            [account: unavailable], [account: .failure(.notSent)],
        ] as [[String: ScriptedGoogle.Answer]])
    func aServiceThatSigningNeedsMayComeBack(answers: [String: ScriptedGoogle.Answer]) async throws {
        let google = ScriptedGoogle(answers.mapValues { [$0] })
        let answer = await Self.perform(try Self.remote(google), .customToken, #"{"uid":"ada"}"#)
        guard case .failure(.failed(let error)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == .unavailable, "\(error.message)")
        let isAccountUnknown = answers.count == 1
        #expect(isAccountUnknown == error.message.contains("set GOOGLE_APPLICATION_CREDENTIALS"))
    }

    @Test(arguments: [("", 404), ("", 200)])
    func withoutAServiceAccountNothingIsSigned(body: String, status: Int) async throws {
        let google = ScriptedGoogle([Self.account: [.json(body, status: status)]])
        let answer = await Self.perform(try Self.remote(google), .customToken, #"{"uid":"ada"}"#)
        guard case .failure(.failed(let error)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == .failedPrecondition)
        #expect(error.message.contains("the metadata server names no service account"))
        #expect(error.message.contains("set GOOGLE_APPLICATION_CREDENTIALS"))
    }

    @Test func anAccountThatMayNotSignIsToldWhatToDo() async throws {
        let google = ScriptedGoogle([
            "/service-accounts/default/email": [.json("shop@demo.iam.gserviceaccount.com")],
            ":signBlob": [.json("{}", status: 403)],
        ])
        let answer = await Self.perform(try Self.remote(google), .customToken, #"{"uid":"ada"}"#)
        guard case .failure(.failed(let error)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(error.code == .failedPrecondition)
        #expect(error.message.contains("Service Account Token Creator"))
    }

    @Test(arguments: [
        (#"{"uid":""}"#, "INVALID_LOCAL_ID"), (#"{}"#, "INVALID_LOCAL_ID"), ("[", "INVALID_LOCAL_ID"),
        (#"{"uid":"a","claims":{"sub":"b"}}"#, "FORBIDDEN_CLAIM : sub"),
    ])
    func impossibleCustomTokensAreRefused(body: String, reason: String) async throws {
        let google = ScriptedGoogle([:])
        let answer = await Self.perform(try Self.remote(google), .customToken, body)
        guard case .failure(.refused(let message)) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(message.hasPrefix(reason))
        #expect(google.seen.isEmpty)
    }

    // MARK: A key file

    /// The key file's account gets access tokens by what it signs, and signs custom tokens itself.
    @Test func aKeyFileStandsInForTheMetadataServer() async throws {
        let directory = try TemporaryDirectory()
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let file: JSONValue = [
            "type": "service_account", "client_email": "robot@demo.iam.gserviceaccount.com", "private_key_id": "k1",
            "private_key": .string(key.pkcs8PEMRepresentation), "token_uri": "https://oauth2.test/token",
        ]
        let path = directory.path + "/key.json"
        try Data(file.serialized()).write(to: URL(fileURLWithPath: path))
        let google = ScriptedGoogle([
            "oauth2.test/token": [.json(#"{"access_token":"granted","expires_in":3600}"#)], "/accounts": [.json("{}")],
        ])
        let users = try Self.remote(google, environment: ["GOOGLE_APPLICATION_CREDENTIALS": path])
        #expect(await Self.perform(users, .lookUp, "{}") == .success("{}"))
        #expect(google.userRequests.first?.headers["Authorization"] == "Bearer granted")
        let grant = try #require(google.seen.first { $0.address == "https://oauth2.test/token" }?.body)
        let form = String(decoding: grant, as: UTF8.self)
        #expect(form.hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="))

        let payload = try await Self.payload(
            of: Self.perform(users, .customToken, #"{"uid":"ada"}"#), isSigned: true)
        #expect(payload["iss"] == "robot@demo.iam.gserviceaccount.com")
        #expect(google.seen.allSatisfy { !$0.address.contains("metadata") })
    }

    @Test(arguments: [
        ("{", "isn't JSON"), (#"{"type":"authorized_user"}"#, "isn't the key of a service account"),
        (#"{"type":"service_account"}"#, "has no client_email"),
        (
            #"{"type":"service_account","client_email":"a","token_uri":"b","private_key":"SECRET"}"#,
            "isn't an RSA key"
        ),
    ])
    func aKeyFileThatCannotBeUsedIsNamed(content: String, reason: String) throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/key.json"
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: HostError.self) {
            try Self.remote(ScriptedGoogle([:]), environment: ["GOOGLE_APPLICATION_CREDENTIALS": path])
        }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains(path) && text.contains(reason) && !text.contains("SECRET"))
    }
}
