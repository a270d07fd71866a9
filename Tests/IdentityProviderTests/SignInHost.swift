import CommitPipeline
import DocumentModel
import HTTPTypes
import HostTesting
import Hummingbird
import HummingbirdTesting
@testable import IdentityProvider
import Logging
import NIOCore
import OutboundHTTP
import SQLiteStorage
import StrictJSON
import TestSupport
import Testing
import TokenVerification
import UserStore

/// A host's sign-in in its own directory, on which it can be restarted.
struct SignInHost: Sendable {
    typealias Answer = (status: Int, body: JSONNode, headers: HTTPFields)

    static let project = TestIssuer.project
    /// The header by which a test says where a request comes from.
    private static let address = HTTPField.Name("X-Test-Address")

    let client: any TestClientProtocol
    let toolkit: IdentityToolkit
    let users: UserStore
    let pipeline: CommitPipeline

    /// Runs a test against sign-in, and ends it.
    ///
    /// - Parameter sleep: how the sender of messages waits; nil if none runs.
    static func serving<R: Sendable>(
        policy: TokenPolicy = .development, isSigned: Bool = true, in directory: TemporaryDirectory? = nil,
        configuration: SignInConfiguration = SignInConfiguration(), apps: AppCheckGate? = nil,
        customTokens: CustomTokens = .unverified,
        blocking: any BlockingFunctions = NoBlockingFunctions(),
        transport: any OutboundTransport = OutboundClient(), delivery: MessageDelivery = MessageDelivery(),
        sleep: MessageSender.Sleep? = nil,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        now: @escaping WallClock = { TestIssuer.start }, _ body: @escaping @Sendable (SignInHost) async throws -> R
    ) async throws -> R {
        let directory = try directory ?? TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try SQLiteEngine(file: directory.path + "/store.sqlite")
        let pipeline = try CommitPipeline(engine: engine, now: { Timestamp(seconds: now(), nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: project)
        try pipeline.start()
        let passwords = PasswordHasher(cost: 2)
        let toolkit = IdentityToolkit(
            users: users, policy: policy,
            keys: isSigned ? try SigningKeys.ofTests(in: directory.path + "/auth", now: now) : nil,
            passwords: passwords, customTokens: customTokens, configuration: configuration, blocking: blocking,
            delivery: delivery, transport: transport, logger: logger, now: now)
        let port = SignInPort(
            toolkit, apps: apps, isAdmin: { $0 == "server" },
            address: { _, headers in address.flatMap { headers[$0] } ?? "192.0.2.1" })
        let result = try await withThrowingTaskGroup(of: Void.self) { group in
            if let sleep {
                let sender = toolkit.messageSender(logger: logger, sleep: sleep)
                group.addTask { try await sender.run() }
            }
            defer { group.cancelAll() }
            return try await Application(responder: port).test(.router) { client in
                try await body(SignInHost(client: client, toolkit: toolkit, users: users, pipeline: pipeline))
            }
        }
        await pipeline.shutdown()
        await passwords.close()
        try engine.close()
        return result
    }

    func send(
        _ path: String, method: HTTPRequest.Method = .post, json: String? = nil, form: String? = nil,
        headers: HTTPFields = [:], from address: String? = nil
    ) async throws -> Answer {
        var headers = headers
        if let name = Self.address { headers[name] = address }
        if json != nil { headers[.contentType] = "application/json" }
        if form != nil { headers[.contentType] = "application/x-www-form-urlencoded" }
        let response = try await client.execute(
            uri: path, method: method, headers: headers, body: (json ?? form).map { ByteBuffer(string: $0) })
        let bytes = Array(response.body.readableBytesView)
        let isJSON = response.headers[.contentType]?.hasPrefix("application/json") == true
        let body = isJSON ? try JSONNode(parsing: bytes) : JSONNode(kind: .null, offset: 0)
        return (response.status.code, body, response.headers)
    }

    func account(_ operation: String, _ json: String, from address: String? = nil) async throws -> Answer {
        try await send(
            "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=fake", json: json, from: address)
    }

    func admin(_ operation: String, _ json: String) async throws -> Answer {
        try await send(
            "/identitytoolkit.googleapis.com/v1/projects/\(Self.project)/accounts:\(operation)", json: json,
            headers: [.authorization: "Bearer server"])
    }

    func refresh(_ token: String, from address: String? = nil) async throws -> Answer {
        try await send(
            "/securetoken.googleapis.com/v1/token?key=fake",
            form: "grant_type=refresh_token&refresh_token=\(token)", from: address)
    }

    func signUp() async throws -> (uid: String, idToken: String, refreshToken: String) {
        try signedIn(try await account("signUp", #"{"returnSecureToken":true}"#))
    }

    func signUp(_ email: String, _ password: String) async throws -> (
        uid: String, idToken: String, refreshToken: String
    ) {
        try signedIn(try await account("signUp", #"{"email":"\#(email)","password":"\#(password)"}"#))
    }

    func signIn(_ email: String, _ password: String, from address: String? = nil) async throws -> Answer {
        try await account(
            "signInWithPassword", #"{"email":"\#(email)","password":"\#(password)"}"#, from: address)
    }

    private func signedIn(_ answer: Answer) throws -> (uid: String, idToken: String, refreshToken: String) {
        #expect(answer.status == 200)
        #expect(answer.body["expiresIn"]?.text == "3600")
        return (
            try #require(answer.body["localId"]?.text), try #require(answer.body["idToken"]?.text),
            try #require(answer.body["refreshToken"]?.text)
        )
    }
}

extension JSONNode {
    /// The message of an error; nil for another answer.
    var errorMessage: String? { self["error"]?["message"]?.text }
}
