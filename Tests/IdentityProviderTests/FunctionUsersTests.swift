import DocumentModel
import DocumentStore
import HostTesting
@testable import IdentityProvider
import Logging
import StorageEngine
import StrictJSON
import TestSupport
import Testing
import TextFormats
import TokenVerification
import UserModel
import UserStore

/// What workers send about users, whatever they send.
@Suite struct FunctionUsersTests {
    private static let project = TestIssuer.project
    private static let passwords = PasswordHasher(cost: 2)

    private let clock = ManualClock.atIssue()
    private let directory: TemporaryDirectory
    private let documents: DocumentStore
    private let users: FunctionUsers

    init() throws {
        documents = try DocumentStore(engine: MemoryEngine(), now: clock.timestamp, elapsed: { .zero })
        directory = try TemporaryDirectory()
        let keys = try SigningKeys.ofTests(in: directory.path + "/auth", now: { TestIssuer.start })
        var configuration = SignInConfiguration()
        configuration.authorizedDomains = ["a.example"]
        users = FunctionUsers(
            IdentityToolkit(
                users: try UserStore(on: documents.pipeline, project: Self.project), policy: .production, keys: keys,
                passwords: Self.passwords,
                customTokens: CustomTokens { issuer, id in
                    guard issuer == IdentityToolkit.customTokenIssuer(of: Self.project), let id else { return [] }
                    return keys.verification[id].map { [$0] } ?? []
                },
                configuration: configuration, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
                now: clock.wall),
            address: { "https://auth.example.com" })
        try documents.start()
    }

    private func perform(
        _ operation: UserRequest.Operation, _ body: String, in context: OperationContext = OperationContext()
    ) async -> Result<JSONValue, UserFailure> {
        await withCheckedContinuation { continuation in
            users.perform(UserRequest(operation, body: Array(body.utf8)), in: context) { result in
                continuation.resume(returning: result.map { (try? JSONValue(parsing: $0)) ?? .null })
            }
        }
    }

    /// Commits what a worker says that a transaction has done.
    ///
    /// - Parameter seconds: how long the prepared commit waits.
    private func commit(
        _ changes: UserChanges, in context: OperationContext = OperationContext(owner: 1), after seconds: Double = 0
    ) async throws -> Result<CommitAnswer, UserFailure> {
        guard case .began(let id, _) = try await documents.begin(.readWrite(retrying: nil), in: context) else {
            throw DocumentError(.internal, "no transaction")
        }
        let part: FunctionUsers.Part
        do throws(UserFailure) { part = try await users.part(changes, in: context) } catch { return .failure(error) }
        clock.advance(seconds: seconds)
        return await withCheckedContinuation { continuation in
            documents.commit(
                [], transaction: id, completing: nil, effects: [], beside: { [part.make()] }, in: context
            ) { result in
                continuation.resume(returning: result.mapError { part.refusal ?? .failed($0) })
            }
        }
    }

    private func write(_ operation: UserRequest.Operation, _ body: String) -> UserChanges {
        UserChanges(writes: [UserRequest(operation, body: Array(body.utf8))])
    }

    private func isRefused(_ result: Result<some Any, UserFailure>, _ message: String) -> Bool {
        if case .failure(.refused(let found)) = result { found.hasPrefix(message) } else { false }
    }

    @Test(arguments: ["", "[]", "{", "7", #""x""#, "\u{0}", #"{"localId":{}}"#, #"{"localId":[[1]]}"#])
    func aBodyThatIsNoRequestIsRefused(body: String) async throws {
        for operation in UserRequest.Operation.allCases where !operation.isRead {
            guard case .failure = await perform(operation, body) else {
                // Everything about a new user is optional.
                #expect(operation == .create, "\(operation)")
                continue
            }
        }
        for operation in [UserRequest.Operation.update, .delete] {
            guard case .failure = try await commit(write(operation, body)) else {
                Issue.record("\(operation) of \(body) was committed")
                continue
            }
        }
        // Whatever a lookup says, it ends.
        _ = await perform(.lookUp, body)
        _ = await perform(.list, body)
        _ = try await commit(UserChanges(expectations: [.init(lookup: Array(body.utf8), answer: [])]))
    }

    @Test func requestsAreBounded() async throws {
        let large = #"{"displayName":""# + String(repeating: "x", count: 1 << 20) + #""}"#
        guard case .failure(.failed(let error)) = await perform(.create, large) else {
            Issue.record("a large request was performed")
            return
        }
        #expect(error.code == .invalidArgument)
        guard case .failure(.failed) = try await commit(write(.create, large)) else {
            Issue.record("a large request was committed")
            return
        }
        let uids = (0...100).map { #""\#($0)""# }.joined(separator: ",")
        let lookup = UserChanges.Expectation(lookup: Array(#"{"localId":[\#(uids)]}"#.utf8), answer: [])
        guard case .failure(.failed(let many)) = try await commit(UserChanges(expectations: [lookup])) else {
            Issue.record("a transaction has read too many users")
            return
        }
        #expect(many.code == .invalidArgument)
    }

    /// A function acts as admin, never as the user of a token.
    @Test func idTokensHaveNoPlaceInRequests() async throws {
        let result = await perform(.update, #"{"idToken":"x","displayName":"y"}"#)
        #expect(isRefused(result, "UNEXPECTED_PARAMETER"))
        #expect(isRefused(try await commit(write(.create, #"{"idToken":"x"}"#)), "UNEXPECTED_PARAMETER"))
        #expect(isRefused(await perform(.create, #"{"tenantId":"t"}"#), "OPERATION_NOT_ALLOWED"))
        #expect(isRefused(try await commit(write(.create, #"{"tenantId":"t"}"#)), "OPERATION_NOT_ALLOWED"))
    }

    @Test func whatAWorkerClaimsToHaveReadIsCompared() async throws {
        _ = await perform(.create, #"{"localId":"ada"}"#)
        let lookup = #"{"localId":["ada"]}"#
        let answer = try await perform(.lookUp, lookup).get().serialized()
        var changes = write(.update, #"{"localId":"ada","displayName":"Ada"}"#)
        changes.expectations = [.init(lookup: Array(lookup.utf8), answer: answer)]
        guard case .success(.committed) = try await commit(changes) else {
            Issue.record("it isn't committed")
            return
        }
        // The name has changed since.
        guard case .failure(.failed(let error)) = try await commit(changes) else {
            Issue.record("it is committed twice")
            return
        }
        #expect(error.code == .aborted)
    }

    /// The function may have asked for it long before.
    @Test func aTransactionRevokesWithItsCommit() async throws {
        guard case .success = await perform(.create, #"{"localId":"ada"}"#) else {
            Issue.record("the user was not created")
            return
        }
        let change = #"{"localId":"ada","validSince":"\#(TestIssuer.start - 60)"}"#
        guard case .success = try await commit(write(.update, change), after: 60) else {
            Issue.record("the revocation was refused")
            return
        }
        let found = try await perform(.lookUp, #"{"localId":["ada"]}"#).get()
        #expect(found["users"]?[0]?["validSince"]?.stringValue == String(TestIssuer.start + 60))
    }

    @Test func aCallerWhoHasLeftChangesNothing() async throws {
        let cancellation = OperationCancellation()
        cancellation.cancel()
        let context = OperationContext(owner: 1, cancellation: cancellation)
        #expect(await perform(.create, #"{"localId":"ada"}"#, in: context) == .failure(.failed(.callerLeft)))
        guard case .failure(.failed(.callerLeft)) = try await commit(write(.create, "{}"), in: context) else {
            Issue.record("it is committed")
            return
        }
        #expect(try await perform(.list, "{}").get()["users"] == nil)
    }

    /// The documents of a tester's client lead to users too.
    @Test func clientsUnderRulesManageNoUsers() async throws {
        struct Rules: AccessPolicy {
            func check(_ access: Access, in view: AccessView) {}
        }
        let context = OperationContext(owner: 1, policy: Rules())
        let denied = DocumentError(.permissionDenied, "only functions and other admins manage users")
        #expect(await perform(.list, "{}", in: context) == .failure(.failed(denied)))
        guard case .failure(.failed(let error)) = try await commit(write(.create, "{}"), in: context) else {
            Issue.record("it is committed")
            return
        }
        #expect(error.code == .permissionDenied)
    }

    /// In production, where custom tokens must be signed.
    @Test func theHostAcceptsTheCustomTokensThatItSigns() async throws {
        let token = try #require(
            try await perform(.customToken, #"{"uid":"ada","claims":{"first_name":"A"}}"#).get()["token"]?.stringValue)
        let payload = try JSONValue(parsing: try #require(Base64URL.decode(token.split(separator: ".")[1].utf8)))
        #expect(payload["iss"] == .string("functions-host@\(Self.project).iam.gserviceaccount.com"))
        #expect(payload["claims"] == ["first_name": "A"])
        let key = try TestIssuer.shared.get().key
        let tokens = CustomTokens { $1 == key.keyID ? [key.publicKey] : [] }
        let read = try tokens.payload(
            of: token, audience: IdentityToolkit.customTokenAudience, now: TestIssuer.start)
        #expect(read["uid"] == "ada")
    }

    /// The mail is the function's to send, so it gets the link without asking for it.
    @Test func linksAreReturnedWithTheHostsAddress() async throws {
        let body = #"{"requestType":"EMAIL_SIGNIN","email":"ada@example.com","continueUrl":"https://a.example"}"#
        let link = try await perform(.mailLink, body).get()["oobLink"]?.stringValue
        #expect(link?.hasPrefix("https://auth.example.com/") == true)
    }
}
