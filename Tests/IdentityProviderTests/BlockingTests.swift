import HTTPTypes
import HostTesting
import StrictJSON
import Synchronization
import TestSupport
import Testing
import TextFormats
import TokenVerification
import UserStore

@testable import IdentityProvider

/// When functions are asked, and what happens without their approval.
@Suite struct BlockingTests {
    private typealias Host = SignInHost

    /// Refuses some users, and remembers whom it was asked for.
    private final class Functions: BlockingFunctions {
        private let asked = Mutex<[String]>([])

        /// What it was asked since it was taken last.
        func takeAsked() -> [String] {
            asked.withLock { asked in
                defer { asked = [] }
                return asked
            }
        }

        func has(_ moment: BlockingMoment) -> Bool { moment != .beforeSendEmail }

        func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? {
            let user = event["user_record"]
            let name = user?["email"]?.stringValue ?? user?["phone_number"]?.stringValue ?? "anonymous"
            asked.withLock { $0.append("\(moment.rawValue) \(name)") }
            guard name != BlockingTests.refused.email, name != BlockingTests.refused.number else {
                throw BlockingRefusal(
                    function: "f", httpStatus: 403, status: "PERMISSION_DENIED", message: "not today")
            }
            return nil
        }
    }

    private typealias Contacts = (email: String, number: String)
    private static let refused: Contacts = ("eve@refused.example", "+4915100000000")
    private static let welcome: Contacts = ("ada@example.com", "+4915112345678")

    private func code(_ host: Host, _ email: String) async throws -> String {
        let asked = try await host.account(
            "sendOobCode",
            #"{"requestType":"EMAIL_SIGNIN","email":"\#(email)","continueUrl":"http://localhost/in"}"#)
        #expect(asked.status == 200)
        let answer = try await host.send(
            "/emulator/v1/projects/\(Host.project)/oobCodes", method: .get)
        let found = try answer.body["oobCodes"]?.elements().first { $0["email"]?.text == email }
        return try #require(found?["oobCode"]?.text)
    }

    private func phoneCode(_ host: Host, _ number: String) async throws -> (session: String, code: String) {
        let sent = try await host.account("sendVerificationCode", #"{"phoneNumber":"\#(number)"}"#)
        let session = try #require(sent.body["sessionInfo"]?.text)
        let answer = try await host.send(
            "/emulator/v1/projects/\(Host.project)/verificationCodes", method: .get)
        let found = try answer.body["verificationCodes"]?.elements().first { $0["sessionInfo"]?.text == session }
        return (session, try #require(found?["code"]?.text))
    }

    private func add(_ way: String, _ who: Contacts, to idToken: String, _ host: Host) async throws -> Host.Answer {
        let token = #""idToken":"\#(idToken)""#
        switch way {
        case "signUp", "update":
            return try await host.account(way, #"{\#(token),"email":"\#(who.email)","password":"secret-1"}"#)
        case "provider":
            let claims = #"{"sub":"\#(who.email)","email":"\#(who.email)"}"#
            let form = "providerId=google.com&id_token=" + PercentEncoding.encoded(claims)
            return try await host.account(
                "signInWithIdp", #"{\#(token),"requestUri":"http://localhost","postBody":"\#(form)"}"#)
        case "emailLink":
            let code = try await code(host, who.email)
            return try await host.account(
                "signInWithEmailLink", #"{\#(token),"email":"\#(who.email)","oobCode":"\#(code)"}"#)
        default:
            let (session, code) = try await phoneCode(host, who.number)
            return try await host.account(
                "signInWithPhoneNumber", #"{\#(token),"sessionInfo":"\#(session)","code":"\#(code)"}"#)
        }
    }

    @Test(arguments: ["signUp", "update", "provider", "emailLink", "phone"])
    func theFirstCredentialOfAnAnonymousUserIsACreation(way: String) async throws {
        let functions = Functions()
        try await Host.serving(blocking: functions) { host in
            let user = try await host.signUp()
            #expect(functions.takeAsked() == [])
            let refused = try await add(way, Self.refused, to: user.idToken, host)
            #expect(refused.body.errorMessage?.hasPrefix("BLOCKING_FUNCTION_ERROR_RESPONSE") == true)
            let kept = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(kept.isAnonymous && kept.password == nil)
            let name = way == "phone" ? Self.refused.number : Self.refused.email
            #expect(functions.takeAsked() == ["beforeCreate \(name)"])
            let added = try await add(way, Self.welcome, to: user.idToken, host)
            #expect(added.body["localId"]?.text == user.uid)
            let own = way == "phone" ? Self.welcome.number : Self.welcome.email
            #expect(functions.takeAsked() == ["beforeCreate \(own)", "beforeSignIn \(own)"])
            // From then on it is a user like any other.
            let token = try #require(added.body["idToken"]?.text)
            let linked = try await add("provider", ("bob@example.com", ""), to: token, host)
            #expect(linked.status == 200)
            #expect(functions.takeAsked().map { $0.prefix(12) } == ["beforeSignIn"])
        }
    }

    /// A client may be signed in by the commit that wasn't when functions would have been asked.
    @Test(arguments: ["error", "failure", "other"])
    func noClientIsSignedInWithoutApproval(outcome: String) async throws {
        let functions = Functions()
        try await Host.serving(blocking: functions) { host in
            var record = UserRecord(uid: "ada", createdAt: 0)
            record.email = "ada@example.com"
            let user = record
            let runs = Mutex(0)
            let call = SignInCall(
                fields: try SignInRequest(json: Array("{}".utf8)),
                origin: CallOrigin(address: "192.0.2.1", base: "http://localhost"))
            let result: SignInResult<String> = try await host.toolkit.signIn(call, by: SignInMethod("password")) { _ in
                let run = runs.withLock { runs -> Int in
                    runs += 1
                    return runs
                }
                if run > 1 { return .signIn(SignInCandidate(user: user, isNew: true, provider: "password")) }
                switch outcome {
                case "error": throw IdentityToolkitError("INVALID_OOB_CODE")
                case "failure": return .failure(IdentityToolkitError("INVALID_CODE"))
                default: return .other("later")
                }
            }
            guard case .signedIn(let signedIn) = result else {
                Issue.record("not signed in")
                return
            }
            #expect(signedIn.user.uid == "ada")
            #expect(functions.takeAsked() == ["beforeCreate ada@example.com", "beforeSignIn ada@example.com"])
        }
    }

    /// Counts what it is asked before mails.
    private final class MailFunction: BlockingFunctions {
        let asked = Atomic(0)

        func has(_ moment: BlockingMoment) -> Bool { moment == .beforeSendEmail }

        func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? {
            asked.add(1, ordering: .relaxed)
            return nil
        }
    }

    /// No mail is sent to an address that no user has, so that these aren't limited as messages.
    @Test func oneClientRunsTheFunctionBeforeMailsAFewTimes() async throws {
        let function = MailFunction()
        var configuration = SignInConfiguration()
        configuration.attemptsPerAddress = 2
        try await Host.serving(
            policy: .production, configuration: configuration, blocking: function,
            delivery: MessageDelivery(mail: ScriptedDelivery())
        ) { host in
            func ask(_ n: Int, from address: String? = nil) async throws -> String? {
                try await host.account(
                    "sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"u\#(n)@example.com"}"#, from: address
                ).body.errorMessage
            }
            for n in 0..<2 {
                let answer = try await ask(n)
                #expect(answer == "EMAIL_NOT_FOUND")
            }
            #expect(try await ask(2) == IdentityToolkitError.tooManyAttempts.message)
            #expect(function.asked.load(ordering: .relaxed) == 2)
            #expect(try await ask(2, from: "192.0.2.2") == "EMAIL_NOT_FOUND")
            #expect(function.asked.load(ordering: .relaxed) == 3)
        }
    }

    /// Does something once, before the first sign-in that it is asked for.
    private final class Interruption: BlockingFunctions {
        private let work = Mutex<(@Sendable () async -> Void)?>(nil)

        func prepare(_ new: @escaping @Sendable () async -> Void) { work.withLock { $0 = new } }

        func has(_ moment: BlockingMoment) -> Bool { moment == .beforeSignIn }

        func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? {
            let due = work.withLock { work -> (@Sendable () async -> Void)? in
                defer { work = nil }
                return work
            }
            await due?()
            return nil
        }
    }

    /// A user whose hash has another scheme signs in twice, such as by pressing the button twice: the first of the two
    /// replaces the hash.
    @Test func aHashThatIsReplacedMeanwhileRefusesNoSignIn() async throws {
        let functions = Interruption()
        let hasher = PasswordHasher(cost: 4)
        let imported = try await hasher.hash("secret-1", for: "a")
        await hasher.close()
        try await Host.serving(blocking: functions) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            try await host.users.commit { transaction in
                guard var known = try transaction.user(user.uid) else { return }
                known.password = imported
                try transaction.update(known)
            }
            functions.prepare { _ = try? await host.signIn("ada@example.com", "secret-1") }
            #expect(try await host.signIn("ada@example.com", "secret-1").status == 200)
            let stored = try await host.users.read { try $0.user(user.uid) }
            #expect(stored != nil && stored?.password != imported)
        }
    }

    /// What was compared before doesn't count once the password is another one.
    @Test func aPasswordThatIsChangedMeanwhileSignsNoClientIn() async throws {
        let functions = Interruption()
        try await Host.serving(blocking: functions) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            functions.prepare {
                _ = try? await host.admin("update", #"{"localId":"\#(user.uid)","password":"secret-2"}"#)
            }
            let answer = try await host.signIn("ada@example.com", "secret-1")
            #expect(answer.body.errorMessage == "INVALID_PASSWORD")
            #expect(try await host.signIn("ada@example.com", "secret-2").status == 200)
        }
    }

    /// Gives each sign-in a claim of its own.
    private final class Shifts: BlockingFunctions {
        private let count = Mutex(0)

        func has(_ moment: BlockingMoment) -> Bool { moment == .beforeSignIn }

        func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? {
            let number = count.withLock { count -> Int64 in
                count += 1
                return Int64(count)
            }
            return ["userRecord": ["sessionClaims": ["shift": .integer(number)]]]
        }
    }

    private func shift(_ idToken: String?, _ host: Host) throws -> Int? {
        try host.toolkit.caller(idToken).claims["shift"]?.intValue
    }

    private func changeFactors(
        _ operation: String, _ idToken: String, _ fields: String, _ host: Host
    ) async throws -> Host.Answer {
        try await host.send(
            "/identitytoolkit.googleapis.com/v2/accounts/mfaEnrollment:\(operation)?key=k",
            json: #"{"idToken":"\#(idToken)",\#(fields)}"#)
    }

    /// Enrolls an authenticator app.
    private func enroll(_ idToken: String, _ host: Host) async throws -> Host.Answer {
        let started = try await changeFactors("start", idToken, #""totpEnrollmentInfo":{}"#, host)
        let info = try #require(started.body["totpSessionInfo"])
        let secret = try #require(Authenticator.secret(in: info["sharedSecretKey"]?.text ?? ""))
        let code = Authenticator.code(secret, in: TestIssuer.start / Authenticator.period)
        let session = info["sessionInfo"]?.text ?? ""
        return try await changeFactors(
            "finalize", idToken,
            #""totpVerificationInfo":{"sessionInfo":"\#(session)","verificationCode":"\#(code)"}"#, host)
    }

    /// New tokens for other second factors are of the same sign-in, so that no function is asked.
    @Test func otherSecondFactorsKeepTheClaimsOfTheSignIn() async throws {
        try await Host.serving(blocking: Shifts()) { host in
            let first = try await host.signUp("ada@example.com", "secret-1")
            _ = try await host.admin("update", #"{"localId":"\#(first.uid)","emailVerified":true}"#)
            let second = try await host.signIn("ada@example.com", "secret-1")
            let own = try #require(second.body["idToken"]?.text)
            #expect(try shift(first.idToken, host) == 1)
            #expect(try shift(own, host) == 2)
            let enrolled = try await enroll(own, host)
            let proved = try #require(enrolled.body["idToken"]?.text)
            #expect(try shift(proved, host) == 2)
            let refreshed = try await host.refresh(try #require(enrolled.body["refreshToken"]?.text))
            #expect(try shift(refreshed.body["id_token"]?.text, host) == 2)
            let stored = try await host.users.read { try $0.user(first.uid) }
            let id = try #require(stored?.secondFactors.first?.id)
            let left = try await changeFactors("withdraw", proved, #""mfaEnrollmentId":"\#(id)""#, host)
            #expect(try shift(left.body["idToken"]?.text, host) == 2)
        }
    }

    /// Otherwise a user would get rid of claims that restrict the sign-in.
    @Test(arguments: [#""password":"secret-2""#, #""email":"new@example.com""#])
    func aNewPasswordOrAddressKeepsTheClaimsOfTheSignIn(change: String) async throws {
        try await Host.serving(blocking: Shifts()) { host in
            _ = try await host.signUp("ada@example.com", "secret-1")
            let own = try await host.signIn("ada@example.com", "secret-1")
            let token = try #require(own.body["idToken"]?.text)
            #expect(try shift(token, host) == 2)
            let changed = try await host.account("update", #"{"idToken":"\#(token)",\#(change)}"#)
            #expect(try shift(changed.body["idToken"]?.text, host) == 2)
            let refreshed = try await host.refresh(try #require(changed.body["refreshToken"]?.text))
            #expect(try shift(refreshed.body["id_token"]?.text, host) == 2)
        }
    }

    /// Such as of a guest, which a custom token marks.
    @Test(arguments: ["signUp", "update", "provider", "emailLink", "phone"])
    func aCredentialThatIsAddedKeepsTheClaimsOfTheSignIn(way: String) async throws {
        try await Host.serving { host in
            let token = #"{\"uid\":\"ada\",\"claims\":{\"guest\":true}}"#
            let entered = try await host.account("signInWithCustomToken", #"{"token":"\#(token)"}"#)
            let own = try #require(entered.body["idToken"]?.text)
            let added = try await add(way, Self.welcome, to: own, host)
            #expect(added.body["localId"]?.text == "ada")
            #expect(try host.toolkit.caller(added.body["idToken"]?.text).claims["guest"] == true)
            let refreshed = try await host.refresh(try #require(added.body["refreshToken"]?.text))
            #expect(try host.toolkit.caller(refreshed.body["id_token"]?.text).claims["guest"] == true)
        }
    }

    @Test func aSignInThatHasEndedGetsNoCredential() async throws {
        try await Host.serving(policy: .production) { host in
            let user = try await host.signUp()
            try await host.users.commit { try $0.endSessions(of: user.uid) }
            let added = try await add("signUp", Self.welcome, to: user.idToken, host)
            #expect(added.body.errorMessage?.hasPrefix("CREDENTIAL_TOO_OLD_LOGIN_AGAIN") == true)
            let kept = try await host.users.read { try $0.user(user.uid) }
            #expect(kept?.isAnonymous == true)
        }
    }

    /// Its ID token is good for up to an hour longer, but what restricted it isn't stored any more.
    @Test(arguments: [#""password":"secret-2""#, #""email":"new@example.com""#])
    func aSignInThatHasEndedGetsNoNewTokens(change: String) async throws {
        try await Host.serving(policy: .production, blocking: Shifts()) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            try await host.users.commit { try $0.endSessions(of: user.uid) }
            let changed = try await host.account("update", #"{"idToken":"\#(user.idToken)",\#(change)}"#)
            #expect(changed.body.errorMessage?.hasPrefix("CREDENTIAL_TOO_OLD_LOGIN_AGAIN") == true)
            #expect(try await host.signIn("ada@example.com", "secret-1").status == 200)
            // A profile needs no new tokens.
            let named = try await host.account("update", #"{"idToken":"\#(user.idToken)","displayName":"Ada"}"#)
            #expect(named.status == 200)
        }
    }

    @Test func aSecondFactorAfterTheClockWasSetBackKeepsTheClaimsOfTheSignIn() async throws {
        let clock = ManualClock.atIssue()
        try await Host.serving(blocking: Shifts(), now: clock.wall) { host in
            clock.advance(seconds: 7200)
            let user = try await host.signUp("ada@example.com", "secret-1")
            _ = try await host.admin("update", #"{"localId":"\#(user.uid)","emailVerified":true}"#)
            clock.advance(seconds: -7200)
            let refreshed = try await host.refresh(user.refreshToken)
            let enrolled = try await enroll(try #require(refreshed.body["id_token"]?.text), host)
            #expect(try shift(enrolled.body["idToken"]?.text, host) == 1)
        }
    }

    /// Puts the client's address into a claim.
    private struct Addresses: BlockingFunctions {
        func has(_ moment: BlockingMoment) -> Bool { moment == .beforeSignIn }

        func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? {
            ["userRecord": ["sessionClaims": ["from": event["ip_address"] ?? .null]]]
        }
    }

    /// With IPv6 it changes within its network, which is what the host itself uses.
    @Test func functionsGetTheWholeAddressOfAClient() async throws {
        var configuration = SignInConfiguration()
        configuration.attemptsPerAddress = 1
        try await Host.serving(policy: .production, configuration: configuration, blocking: Addresses()) { host in
            let answer = try await host.account(
                "signUp", #"{"email":"ada@example.com","password":"secret-1"}"#, from: "2001:db8::7")
            let token = try #require(answer.body["idToken"]?.text)
            #expect(try host.toolkit.caller(token).claims["from"]?.stringValue == "2001:db8::7")
            let refreshToken = try #require(answer.body["refreshToken"]?.text)
            let near = try await host.refresh(refreshToken, from: "2001:db8::8")
            #expect(near.body["refresh_token"]?.text == refreshToken)
            let far = try await host.refresh(refreshToken, from: "2001:db8:0:1::7")
            #expect(far.body["refresh_token"]?.text != refreshToken)
            _ = try await host.signIn("ken@example.com", "secret-1", from: "2001:db8::7")
            let limited = try await host.signIn("ada@example.com", "secret-1", from: "2001:db8::8")
            #expect(limited.body.errorMessage == IdentityToolkitError.tooManyAttempts.message)
        }
    }

    @Test func ordinaryChangesAskNoFunction() async throws {
        let functions = Functions()
        try await Host.serving(blocking: functions) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            #expect(functions.takeAsked() == ["beforeCreate ada@example.com", "beforeSignIn ada@example.com"])
            let changed = try await host.account(
                "update", #"{"idToken":"\#(user.idToken)","displayName":"Ada","password":"secret-2"}"#)
            #expect(changed.body["idToken"]?.text != nil)
            #expect(changed.body["displayName"]?.text == "Ada")
            #expect(try await host.admin("update", #"{"localId":"\#(user.uid)","disableUser":true}"#).status == 200)
            #expect(functions.takeAsked() == [])
        }
    }
}
