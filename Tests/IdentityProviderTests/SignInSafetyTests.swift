import CommitPipeline
import Dispatch
import DocumentModel
import HTTPTypes
import HostTesting
import HummingbirdTesting
@testable import IdentityProvider
import NIOCore
import StrictJSON
import TestSupport
import Testing
import TextFormats
@testable import TokenVerification
import UserStore

/// What attackers and mistakes meet.
@Suite struct SignInSafetyTests {
    private let tooMany = IdentityToolkitError.tooManyAttempts.message

    // MARK: Guessing

    @Test func failedAttemptsAtAnAccountBringGrowingPauses() async throws {
        let clock = ManualClock.atIssue()
        var configuration = SignInConfiguration()
        configuration.attemptsPerAccount = 3
        try await SignInHost.serving(configuration: configuration, now: clock.wall) { [tooMany] host throws in
            _ = try await host.signUp("ada@example.com", "right-one")
            for _ in 0..<3 {
                #expect(try await host.signIn("ada@example.com", "wrong-one").body.errorMessage == "INVALID_PASSWORD")
            }
            for pause in [1, 2, 4, 8] {
                // Not even the right password is looked at during a pause, and asking doesn't prolong it.
                #expect(try await host.signIn("ada@example.com", "right-one").body.errorMessage == tooMany)
                clock.advance(by: .seconds(pause))
                #expect(try await host.signIn("ada@example.com", "wrong-one").body.errorMessage == "INVALID_PASSWORD")
            }
            clock.advance(by: .seconds(16))
            #expect(try await host.signIn("ada@example.com", "right-one").status == 200)
            // Forgotten with the success.
            #expect(try await host.signIn("ada@example.com", "wrong-one").body.errorMessage == "INVALID_PASSWORD")
            #expect(try await host.signIn("ada@example.com", "right-one").status == 200)
        }
    }

    @Test func aPauseOutlastsARestart() async throws {
        let clock = ManualClock.atIssue()
        let directory = try TemporaryDirectory()
        var configuration = SignInConfiguration()
        configuration.attemptsPerAccount = 1
        let settings = configuration
        try await SignInHost.serving(in: directory, configuration: settings, now: clock.wall) { host in
            _ = try await host.signUp("ada@example.com", "right-one")
            _ = try await host.signIn("ada@example.com", "wrong-one")
        }
        try await SignInHost.serving(in: directory, configuration: settings, now: clock.wall) { [tooMany] host throws in
            #expect(try await host.signIn("ada@example.com", "right-one").body.errorMessage == tooMany)
        }
    }

    @Test func manyGuessesAtOnceAreNoMoreThanOneAfterTheOther() async throws {
        var configuration = SignInConfiguration()
        configuration.attemptsPerAccount = 5
        try await SignInHost.serving(configuration: configuration) { [tooMany] host throws in
            _ = try await host.signUp("ada@example.com", "right-one")
            let looked = try await withThrowingTaskGroup(of: String?.self) { group in
                for n in 0..<100 {
                    group.addTask { try await host.signIn("ada@example.com", "guess-\(n)").body.errorMessage }
                }
                return try await group.reduce(into: [:]) { $0[$1 ?? "", default: 0] += 1 }
            }
            #expect(looked["INVALID_PASSWORD"] ?? 0 <= 5)
            #expect(looked[tooMany] ?? 0 >= 95)
        }
    }

    @Test func oneAddressCantTryManyAccounts() async throws {
        var configuration = SignInConfiguration()
        configuration.attemptsPerAddress = 20
        try await SignInHost.serving(policy: .production, configuration: configuration) { [tooMany] host throws in
            _ = try await host.signUp("ada@example.com", "right-one")
            for n in 0..<20 {
                #expect(try await host.signIn("u\(n)@example.com", "guess1").body.errorMessage == "EMAIL_NOT_FOUND")
            }
            #expect(try await host.signIn("ada@example.com", "right-one").body.errorMessage == tooMany)
            #expect(try await host.signIn("ada@example.com", "right-one", from: "192.0.2.2").status == 200)
        }
    }

    @Test func aPhoneCodeEndsAfterFiveWrongOnes() async throws {
        try await SignInHost.serving { host in
            let sent = try await host.account("sendVerificationCode", #"{"phoneNumber":"+4915112345678"}"#)
            let session = try #require(sent.body["sessionInfo"]?.text)
            let listed = try await host.send(
                "/emulator/v1/projects/\(SignInHost.project)/verificationCodes", method: .get)
            let code = try #require(try listed.body["verificationCodes"]?.elements().first?["code"]?.text)
            let wrong = code == "000000" ? "111111" : "000000"
            func enter(_ code: String) async throws -> String? {
                try await host.account(
                    "signInWithPhoneNumber", #"{"sessionInfo":"\#(session)","code":"\#(code)"}"#
                ).body.errorMessage
            }
            for _ in 0..<5 { #expect(try await enter(wrong) == "INVALID_CODE") }
            #expect(try await enter(code) == "INVALID_SESSION_INFO")
        }
    }

    /// The code of a session, from the list of development.
    private func phoneCode(_ host: SignInHost, _ session: String) async throws -> String {
        let listed = try await host.send(
            "/emulator/v1/projects/\(SignInHost.project)/verificationCodes", method: .get)
        let found = try listed.body["verificationCodes"]?.elements().first { $0["sessionInfo"]?.text == session }
        return try #require(found?["code"]?.text)
    }

    @Test func phoneCodesAreNotLookedAtDuringAPause() async throws {
        let clock = ManualClock.atIssue()
        var configuration = SignInConfiguration()
        configuration.attemptsPerAccount = 3
        try await SignInHost.serving(configuration: configuration, now: clock.wall) { [tooMany] host throws in
            let sent = try await host.account("sendVerificationCode", #"{"phoneNumber":"+4915112345678"}"#)
            let session = try #require(sent.body["sessionInfo"]?.text)
            let code = try await phoneCode(host, session)
            func enter(_ code: String) async throws -> String? {
                try await host.account(
                    "signInWithPhoneNumber", #"{"sessionInfo":"\#(session)","code":"\#(code)"}"#
                ).body.errorMessage
            }
            let wrong = code == "000000" ? "111111" : "000000"
            for _ in 0..<3 { #expect(try await enter(wrong) == "INVALID_CODE") }
            #expect(try await enter(code) == tooMany)
            clock.advance(by: .seconds(1))
            #expect(try await enter(code) == nil)
        }
    }

    /// Otherwise guesses of a second factor would count as those of a phone number.
    @Test func theCodeOfASecondFactorIsGoodForNothingElse() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let factors = #"{"enrollments":[{"mfaEnrollmentId":"f","phoneInfo":"+4915112345678"}]}"#
            let enrolled = try await host.admin(
                "update", #"{"localId":"\#(user.uid)","emailVerified":true,"mfa":\#(factors)}"#)
            #expect(enrolled.status == 200)
            let signedIn = try await host.signIn("ada@example.com", "right-one")
            let pending = try #require(signedIn.body["mfaPendingCredential"]?.text)
            func factor(_ operation: String, _ fields: String) async throws -> SignInHost.Answer {
                try await host.send(
                    "/identitytoolkit.googleapis.com/v2/accounts/mfaSignIn:\(operation)?key=k",
                    json: #"{"mfaPendingCredential":"\#(pending)",\#(fields)}"#)
            }
            func finish(_ session: String, _ code: String) async throws -> SignInHost.Answer {
                try await factor(
                    "finalize", #""phoneVerificationInfo":{"sessionInfo":"\#(session)","code":"\#(code)"}"#)
            }
            let started = try await factor("start", #""mfaEnrollmentId":"f","phoneSignInInfo":{}"#)
            let session = try #require(started.body["phoneResponseInfo"]?["sessionInfo"]?.text)
            let code = try await phoneCode(host, session)
            let other = try await host.account(
                "signInWithPhoneNumber",
                #"{"idToken":"\#(user.idToken)","sessionInfo":"\#(session)","code":"\#(code)"}"#)
            #expect(other.body.errorMessage == "INVALID_SESSION_INFO")
            let sent = try await host.account("sendVerificationCode", #"{"phoneNumber":"+4915112345678"}"#)
            let ofSignIn = try #require(sent.body["sessionInfo"]?.text)
            let answer = try await finish(ofSignIn, phoneCode(host, ofSignIn))
            #expect(answer.body.errorMessage == "INVALID_SESSION_INFO")
            #expect(try await finish(session, code).status == 200)
        }
    }

    // MARK: Hiding accounts

    @Test func answersHideAccountsWhereTheOptionAsksSo() async throws {
        var configuration = SignInConfiguration()
        configuration.hidesAccounts = true
        configuration.attemptsPerAccount = 1000
        try await SignInHost.serving(configuration: configuration) { host in
            _ = try await host.signUp("ada@example.com", "right-one")
            _ = try await host.signUp("off@example.com", "right-one")
            let found = try await host.admin("lookup", #"{"email":["off@example.com"]}"#)
            let uid = try #require(try found.body["users"]?.elements().first?["localId"]?.text)
            _ = try await host.admin("update", #"{"localId":"\#(uid)","disableUser":true}"#)
            for email in ["ada@example.com", "off@example.com", "no@example.com"] {
                let answer = try await host.signIn(email, "wrong-one")
                #expect(answer.body.errorMessage == "INVALID_LOGIN_CREDENTIALS")
                let reset = try await host.account(
                    "sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"\#(email)"}"#)
                #expect(reset.status == 200)
                #expect(reset.body["email"]?.text == email)
                let methods = try await host.account(
                    "createAuthUri", #"{"identifier":"\#(email)","continueUri":"http://localhost"}"#)
                #expect(methods.status == 200)
                #expect(try methods.body.members().map(\.key).sorted() == ["kind", "sessionId"])
            }
            #expect(try await host.signIn("off@example.com", "right-one").body.errorMessage == "USER_DISABLED")
        }
    }

    /// What an admin has changed counts before functions.json; what stands beside it doesn't.
    @Test func functionsJSONHidesAccountsAlsoOnceAnAdminHasChangedAnotherSetting() async throws {
        let directory = try TemporaryDirectory()
        let path = "/emulator/v1/projects/\(SignInHost.project)/config"
        try await SignInHost.serving(in: directory) { host in
            let changed = try await host.send(
                path, method: .patch, json: #"{"signIn":{"allowDuplicateEmails":true}}"#)
            #expect(changed.status == 200)
            #expect(try await host.signIn("no@example.com", "guess1").body.errorMessage == "EMAIL_NOT_FOUND")
        }
        var configuration = SignInConfiguration()
        configuration.hidesAccounts = true
        try await SignInHost.serving(in: directory, configuration: configuration) { host in
            let answer = try await host.signIn("no@example.com", "guess1")
            #expect(answer.body.errorMessage == "INVALID_LOGIN_CREDENTIALS")
            let settings = try await host.users.read { try host.toolkit.settings($0) }
            #expect(settings.allowsDuplicateEmails && settings.hidesAccounts)
        }
    }

    /// As Google's answer has them: authenticator apps stand beside the providers, phones count if they get messages.
    @Test(arguments: [TokenPolicy.development, .production])
    func theConfigurationNamesTheSecondFactors(policy: TokenPolicy) async throws {
        try await SignInHost.serving(policy: policy) { host in
            let config = try await host.send(
                "/identitytoolkit.googleapis.com/v2/projects/\(SignInHost.project)/config", method: .get,
                headers: [.authorization: "Bearer server"])
            let factors = try #require(config.body["mfa"])
            #expect(factors["state"]?.text == "ENABLED")
            #expect(try factors["enabledProviders"]?.elements().count == (policy == .development ? 1 : 0))
            let apps = try #require(try factors["providerConfigs"]?.elements().first)
            #expect(apps["state"]?.text == "ENABLED")
            #expect(try apps["totpProviderConfig"]?["adjacentIntervals"]?.integer() == 1)
        }
    }

    /// Sign-ups in progress count as failed attempts.
    @Test func manySignUpsAtOnceTellOfNoMoreAccountsThanOneAfterTheOther() async throws {
        var configuration = SignInConfiguration()
        configuration.hidesAccounts = true
        configuration.attemptsPerAddress = 5
        try await SignInHost.serving(policy: .production, configuration: configuration) { [tooMany] host throws in
            _ = try await host.signUp("ada@example.com", "right-one")
            func ask() async throws -> String? {
                try await host.account("signUp", #"{"email":"ada@example.com","password":"guess-1"}"#).body.errorMessage
            }
            let attempts = host.toolkit.attempts
            let address = try #require(attempts.subject(address: "192.0.2.1"))
            try await host.users.read { users in
                for _ in 0..<5 { try attempts.begin([address], in: users, now: TestIssuer.start) }
            }
            #expect(try await ask() == tooMany)
            for _ in 0..<5 { attempts.end([address]) }
            for _ in 0..<5 { #expect(try await ask() == "EMAIL_EXISTS") }
            #expect(try await ask() == tooMany)
        }
    }

    /// Nothing is created for such a caller, and so nothing limits the questions.
    @Test func anAccountWithSecondFactorsIsToldOfNoOther() async throws {
        var configuration = SignInConfiguration()
        configuration.hidesAccounts = true
        try await SignInHost.serving(configuration: configuration) { host in
            _ = try await host.signUp("ada@example.com", "right-one")
            let eve = try await host.signUp("eve@example.com", "right-one")
            let factors = #"{"enrollments":[{"mfaEnrollmentId":"f","phoneInfo":"+4915112345678"}]}"#
            let enrolled = try await host.admin(
                "update", #"{"localId":"\#(eve.uid)","emailVerified":true,"mfa":\#(factors)}"#)
            #expect(enrolled.status == 200)
            for email in ["ada@example.com", "free@example.com"] {
                let answer = try await host.account(
                    "signUp", #"{"idToken":"\#(eve.idToken)","email":"\#(email)","password":"right-one"}"#)
                #expect(answer.body.errorMessage?.hasPrefix("EMAIL_CHANGE_NEEDS_VERIFICATION : ") == true)
                let changed = try await host.account("update", #"{"idToken":"\#(eve.idToken)","email":"\#(email)"}"#)
                #expect(changed.body.errorMessage == answer.body.errorMessage)
            }
        }
    }

    // MARK: Refresh tokens

    @Test func aTokenThatWasCopiedEndsTheSignIn() async throws {
        let clock = ManualClock.atIssue()
        try await SignInHost.serving(now: clock.wall) { host in
            let user = try await host.signUp()
            // The owner moves to another network, and gets a successor.
            let moved = try await host.refresh(user.refreshToken, from: "198.51.100.1")
            let successor = try #require(moved.body["refresh_token"]?.text)
            #expect(successor != user.refreshToken)
            // The answer may have been lost: until the successor is used, the old one is good.
            clock.advance(by: .seconds(5000))
            #expect(try await host.refresh(user.refreshToken).status == 200)
            #expect(try await host.refresh(successor, from: "198.51.100.1").body["refresh_token"]?.text == successor)
            // Another tab may have the old one for a moment.
            clock.advance(by: .seconds(IdentityToolkit.successionGrace))
            #expect(try await host.refresh(user.refreshToken).status == 200)
            clock.advance(by: .seconds(1))
            #expect(try await host.refresh(user.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            #expect(
                try await host.refresh(successor, from: "198.51.100.1").body.errorMessage == "TOKEN_EXPIRED")
        }
    }

    /// Of two tabs, a browser froze one; the other has moved to another network, and goes on there.
    @Test func aTokenFromBeforeIsGoodWhereItsSuccessorIsUsed() async throws {
        let clock = ManualClock.atIssue()
        try await SignInHost.serving(now: clock.wall) { host in
            let user = try await host.signUp()
            let moved = try await host.refresh(user.refreshToken, from: "198.51.100.1")
            let successor = try #require(moved.body["refresh_token"]?.text)
            #expect(try await host.refresh(successor, from: "198.51.100.1").status == 200)
            clock.advance(by: .seconds(5000))
            let thawed = try await host.refresh(user.refreshToken, from: "198.51.100.1")
            #expect(thawed.status == 200)
            let own = try #require(thawed.body["refresh_token"]?.text)
            #expect(own != user.refreshToken && own != successor)
            // Both go on, also elsewhere.
            clock.advance(by: .seconds(5000))
            #expect(try await host.refresh(own, from: "203.0.113.1").status == 200)
            #expect(try await host.refresh(successor, from: "198.51.100.1").status == 200)
            // From yet another place, it was copied.
            #expect(
                try await host.refresh(user.refreshToken, from: "203.0.113.9").body.errorMessage == "TOKEN_EXPIRED")
            #expect(
                try await host.refresh(successor, from: "198.51.100.1").body.errorMessage == "TOKEN_EXPIRED")
        }
    }

    /// A phone moves often, and of the tokens from before one is stored.
    @Test func aForgottenTokenIsGoodWhereTheSignInGoesOn() async throws {
        let clock = ManualClock.atIssue()
        try await SignInHost.serving(now: clock.wall) { host in
            let user = try await host.signUp()
            var newest = user.refreshToken
            for n in 1...3 {
                for _ in 1...2 {
                    clock.advance(by: .seconds(3600))
                    let moved = try await host.refresh(newest, from: "198.51.100.\(n)")
                    newest = try #require(moved.body["refresh_token"]?.text)
                }
            }
            let hash = Secrets.hash(user.refreshToken)
            #expect(try await host.users.read { try $0.refreshToken(hash) } == nil)
            let thawed = try await host.refresh(user.refreshToken, from: "198.51.100.3")
            #expect(thawed.body["user_id"]?.text == user.uid)
            let own = try #require(thawed.body["refresh_token"]?.text)
            clock.advance(by: .seconds(3600))
            #expect(try await host.refresh(own, from: "198.51.100.3").body["refresh_token"]?.text == own)
            #expect(try await host.refresh(newest, from: "198.51.100.3").body["refresh_token"]?.text == newest)
            // Also when the other tab has moved on, such as to the other version of IP.
            for _ in 1...2 {
                let moved = try await host.refresh(newest, from: "198.51.100.4")
                newest = try #require(moved.body["refresh_token"]?.text)
            }
            #expect(try await host.refresh(own, from: "198.51.100.3").body["refresh_token"]?.text == own)
            // Elsewhere it was copied.
            #expect(
                try await host.refresh(user.refreshToken, from: "203.0.113.9").body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(own, from: "198.51.100.3").body.errorMessage == "TOKEN_EXPIRED")
        }
    }

    /// Each goes on with a token of its own, so that none of these was lost.
    @Test(arguments: [1, 3]) func manyFrozenTabsGoOn(moves: Int) async throws {
        let clock = ManualClock.atIssue()
        try await SignInHost.serving(now: clock.wall) { host in
            let user = try await host.signUp()
            var newest = user.refreshToken
            for n in 1...moves {
                for _ in 1...2 {
                    let moved = try await host.refresh(newest, from: "198.51.100.\(n)")
                    newest = try #require(moved.body["refresh_token"]?.text)
                }
            }
            clock.advance(by: .seconds(3600))
            for _ in 0...IdentityToolkit.maxLostSuccessors {
                let thawed = try await host.refresh(user.refreshToken, from: "198.51.100.\(moves)")
                let own = try #require(thawed.body["refresh_token"]?.text)
                #expect(own != newest)
                #expect(try await host.refresh(own, from: "198.51.100.\(moves)").status == 200)
            }
            #expect(try await host.refresh(newest, from: "203.0.113.1").status == 200)
        }
    }

    /// A client that moves on twice has a token whose predecessors aren't stored.
    @Test func aCopyThatIsTwoSuccessorsAheadEndsTheSignIn() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let other = try await host.signIn("ada@example.com", "right-one")
            var copy = user.refreshToken
            for n in 1...3 {
                let moved = try await host.refresh(copy, from: "198.51.100.\(n)")
                copy = try #require(moved.body["refresh_token"]?.text)
            }
            #expect(try await host.refresh(user.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(copy, from: "198.51.100.3").body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(try #require(other.body["refreshToken"]?.text)).status == 200)
        }
    }

    /// Anyone who knows a uid can invent tokens, and all commits wait for the writer's thread.
    @Test(.endsHangs) func inventedTokensAreNoWorkForTheWriter() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let (held, hold) = AsyncStream.makeStream(of: Void.self)
            let released = DispatchSemaphore(value: 0)
            async let other: Void = host.users.commit { _ in
                hold.finish()
                released.wait()
            }
            for await _ in held {}
            let answer: SignInHost.Answer
            do {
                defer { released.signal() }
                answer = try await host.refresh(user.uid + "." + String(repeating: "x", count: 65))
            }
            try await other
            #expect(answer.body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(user.refreshToken).status == 200)
        }
    }

    @Test func oneOfTwoSuccessorsEndsTheSignInIfTheOtherIsUsed() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let copied = try await host.refresh(user.refreshToken, from: "198.51.100.1")
            let own = try await host.refresh(user.refreshToken, from: "203.0.113.1")
            let copy = try #require(copied.body["refresh_token"]?.text)
            #expect(try await host.refresh(copy, from: "198.51.100.1").status == 200)
            let successor = try #require(own.body["refresh_token"]?.text)
            #expect(try await host.refresh(successor, from: "203.0.113.1").body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(copy, from: "198.51.100.1").body.errorMessage == "TOKEN_EXPIRED")
        }
    }

    @Test func aTokensTextTellsItsUserAndSignIn() {
        for uid in ["ada", "a.b", "\u{600}", "x\u{600}"] {
            let token = RefreshTokenText(of: uid, familySecret: RefreshTokenText.newFamilySecret())
            let read = RefreshTokenText(token.text)
            #expect(read?.uid == uid && read?.familySecret == token.familySecret)
            // As earlier versions made it.
            let old = RefreshTokenText(of: uid, familySecret: nil)
            #expect(RefreshTokenText(old.text)?.uid == uid)
            #expect(RefreshTokenText(old.text)?.familySecret == nil)
        }
        #expect(RefreshTokenText("x") == nil)
        #expect(RefreshTokenText(".x") == nil)
    }

    @Test func anotherSignInOfTheUserGoesOn() async throws {
        let clock = ManualClock.atIssue()
        try await SignInHost.serving(now: clock.wall) { host in
            let first = try await host.signUp("ada@example.com", "right-one")
            let second = try await host.signIn("ada@example.com", "right-one")
            let moved = try await host.refresh(first.refreshToken, from: "198.51.100.1")
            _ = try await host.refresh(try #require(moved.body["refresh_token"]?.text), from: "198.51.100.1")
            clock.advance(by: .seconds(IdentityToolkit.successionGrace + 1))
            #expect(try await host.refresh(first.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(try #require(second.body["refreshToken"]?.text)).status == 200)
        }
    }

    /// The clock of an admin may be fast, or count milliseconds.
    @Test(arguments: ["\(TestIssuer.start + 300)", "\(TestIssuer.start)000"])
    func aRevocationRefusesNoSignInAfterIt(time: String) async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let revoked = try await host.admin("update", #"{"localId":"\#(user.uid)","validSince":"\#(time)"}"#)
            #expect(revoked.status == 200)
            #expect(try await host.refresh(user.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            let later = try await host.signIn("ada@example.com", "right-one")
            let token = try #require(later.body["idToken"]?.text)
            #expect(try await host.account("lookup", #"{"idToken":"\#(token)"}"#).status == 200)
            #expect(try await host.refresh(try #require(later.body["refreshToken"]?.text)).status == 200)
        }
    }

    /// The network corrects clocks by seconds: guesses wait all the same.
    @Test func aShortStepBackOfTheClockEndsNoPause() async throws {
        let clock = ManualClock.atIssue()
        var configuration = SignInConfiguration()
        configuration.attemptsPerAccount = 1
        try await SignInHost.serving(configuration: configuration, now: clock.wall) { host in
            _ = try await host.signUp("ada@example.com", "secret-1")
            for _ in 0..<2 {
                let wrong = try await host.signIn("ada@example.com", "wrong-one")
                #expect(wrong.body.errorMessage?.hasPrefix("TOO_MANY_ATTEMPTS") == false)
                clock.advance(seconds: 1)
            }
            // Before the second failure, which began a pause of two seconds.
            clock.advance(seconds: -2)
            let refused = try await host.signIn("ada@example.com", "secret-1")
            #expect(refused.body.errorMessage?.hasPrefix("TOO_MANY_ATTEMPTS") == true)
        }
    }

    /// A machine may start with a clock that is hours ahead, before the network sets it.
    @Test func aClockThatIsSetBackStopsNoSignIn() async throws {
        let clock = ManualClock.atIssue()
        var configuration = SignInConfiguration()
        configuration.attemptsPerAccount = 1
        try await SignInHost.serving(configuration: configuration, now: clock.wall) { host in
            func isAccepted(_ idToken: String?) async throws -> Bool {
                try await host.account("lookup", #"{"idToken":"\#(idToken ?? "")"}"#).status == 200
            }
            clock.setWall(Timestamp(seconds: TestIssuer.start + 7200, nanoseconds: 0))
            let user = try await host.signUp("ada@example.com", "secret-1")
            let other = try await host.signUp("ken@example.com", "secret-1")
            _ = try await host.signUp("eve@example.com", "secret-1")
            #expect(try await host.signIn("ada@example.com", "wrong-one").status == 400)
            clock.setWall(Timestamp(seconds: TestIssuer.start, nanoseconds: 0))
            let entered = try await host.signIn("ada@example.com", "secret-1")
            #expect(entered.status == 200, "the pause doesn't last until the time that the clock has shown")
            #expect(try await isAccepted(entered.body["idToken"]?.text))
            let refreshed = try await host.refresh(other.refreshToken)
            #expect(refreshed.status == 200)
            #expect(try await isAccepted(refreshed.body["id_token"]?.text))
            let asked = try await host.admin(
                "sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"eve@example.com","returnOobLink":true}"#)
            let code = try #require(asked.body["oobCode"]?.text)
            let reset = try await host.account("resetPassword", #"{"oobCode":"\#(code)","newPassword":"secret-2"}"#)
            #expect(reset.status == 200)
            // Nothing ends when the clock is there again.
            clock.advance(by: .seconds(3500))
            #expect(try await isAccepted(entered.body["idToken"]?.text))
            clock.advance(by: .seconds(3800))
            for token in [user.refreshToken, entered.body["refreshToken"]?.text] {
                let answer = try await host.refresh(token ?? "")
                #expect(answer.status == 200)
                #expect(try await isAccepted(answer.body["id_token"]?.text))
            }
        }
    }

    // MARK: Requests

    /// A picture may have as many bytes as a token.
    @Test func aLargeProfileShutsNoUserOut() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let picture = String(repeating: "€", count: 4096)
            let changed = try await host.account(
                "update", #"{"idToken":"\#(user.idToken)","displayName":"Ada","photoUrl":"\#(picture)"}"#)
            #expect(changed.status == 200)
            let token = try #require(try await host.refresh(user.refreshToken).body["id_token"]?.text)
            let found = try await host.account("lookup", #"{"idToken":"\#(token)"}"#)
            #expect(found.status == 200, "\(found.body.errorMessage ?? "")")
            let users = try found.body["users"]?.elements() ?? []
            #expect(users.first?["photoUrl"]?.isText(picture) == true)
            let payload = try #require(token.split(separator: ".").dropFirst().first)
            let claims = try JSONNode(parsing: try #require(Base64URL.decode(payload.utf8)))
            #expect(claims["name"]?.isText("Ada") == true)
            #expect(claims["picture"] == nil)
        }
    }

    /// SDKs ask the user for a new link only if they hear that the old one has expired.
    @Test(arguments: [
        ("PASSWORD_RESET", "resetPassword"), ("VERIFY_EMAIL", "update"), ("EMAIL_SIGNIN", "signInWithEmailLink"),
    ]) func anExpiredLinkIsNotAnInvalidOne(kind: String, operation: String) async throws {
        let clock = ManualClock.atIssue()
        try await SignInHost.serving(now: clock.wall) { host in
            _ = try await host.signUp("ada@example.com", "right-one")
            func link() async throws -> String {
                let answer = try await host.admin(
                    "sendOobCode", #"{"requestType":"\#(kind)","email":"ada@example.com","returnOobLink":true}"#)
                return try #require(answer.body["oobCode"]?.text)
            }
            func use(_ code: String) async throws -> String? {
                try await host.account(
                    operation, #"{"oobCode":"\#(code)","email":"ada@example.com","newPassword":"secret-2"}"#
                ).body.errorMessage
            }
            let (used, old) = (try await link(), try await link())
            #expect(try await use(used) == nil)
            #expect(try await use(used) == "INVALID_OOB_CODE")
            clock.advance(by: .seconds(30 * 86_400))
            #expect(try await use(old) == "EXPIRED_OOB_CODE")
            #expect(try await use("invented") == "INVALID_OOB_CODE")
        }
    }

    @Test func oneOfManySignUpsOfAnAddressWins() async throws {
        try await SignInHost.serving { host in
            let outcomes = try await withThrowingTaskGroup(of: String?.self) { group in
                for n in 0..<40 {
                    group.addTask {
                        try await host.account(
                            "signUp", #"{"email":"ada@example.com","password":"secret-\#(n)"}"#
                        ).body.errorMessage
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1 ?? "won", default: 0] += 1 }
            }
            #expect(outcomes == ["won": 1, "EMAIL_EXISTS": 39])
        }
    }

    /// A request with a body, as a client or an admin sends it.
    struct Address: Sendable, CustomTestStringConvertible {
        var path: String
        var method = HTTPRequest.Method.post
        var isForAdmins = false

        var testDescription: String { path }
    }

    private static let addresses: [Address] = {
        let base = "/identitytoolkit.googleapis.com"
        let project = "/projects/\(SignInHost.project)"
        let ofClients = [
            "signUp", "signInWithPassword", "signInWithCustomToken", "signInWithIdp", "signInWithEmailLink",
            "signInWithPhoneNumber", "lookup", "update", "delete", "sendOobCode", "resetPassword", "createAuthUri",
            "sendVerificationCode",
        ].map { Address(path: "\(base)/v1/accounts:\($0)?key=k") }
        let ofFactors = [
            "mfaEnrollment:start", "mfaEnrollment:finalize", "mfaEnrollment:withdraw", "mfaSignIn:start",
            "mfaSignIn:finalize",
        ]
        .map { Address(path: "\(base)/v2/accounts/\($0)?key=k") }
        let ofAdmins = [
            "/accounts", "/accounts:lookup", "/accounts:update", "/accounts:delete", "/accounts:batchCreate",
            "/accounts:batchDelete", "/accounts:sendOobCode", ":createSessionCookie", ":queryAccounts",
            "/oauthIdpConfigs?oauthIdpConfigId=oidc.x",
        ].map { Address(path: base + "/v1" + project + $0, isForAdmins: true) }
        return ofClients + ofFactors + ofAdmins + [
            Address(path: base + "/v2" + project + "/config?updateMask=signIn", method: .patch, isForAdmins: true),
            Address(path: base + "/v2/accounts:revokeToken?key=k"),
            Address(path: "/securetoken.googleapis.com/v1/token?key=k"),
        ]
    }()

    private static let fields = [
        "idToken", "email", "password", "localId", "displayName", "photoUrl", "phoneNumber", "returnSecureToken",
        "token", "postBody", "requestUri", "sessionInfo", "code", "temporaryProof", "oobCode", "newPassword",
        "newEmail",
        "requestType", "continueUrl", "identifier", "continueUri", "users", "localIds", "deleteAttribute",
        "deleteProvider", "customAttributes", "validSince", "mfa", "mfaInfo", "linkProviderUserInfo", "federatedUserId",
        "validDuration", "hashAlgorithm", "rounds", "signerKey", "signIn", "tenantId", "createdAt", "lastLoginAt",
        "disableUser", "emailVerified", "grantType", "refreshToken", "phoneEnrollmentInfo", "totpEnrollmentInfo",
        "phoneVerificationInfo", "totpVerificationInfo", "mfaPendingCredential", "mfaEnrollmentId", "argon2Parameters",
        "expression", "limit", "issuer", "clientId", "emailPrivacyConfig", "blockingFunctions",
    ]

    private static let values = [
        "null", "true", "0", "-1", "1e999", "\"\"", #""x""#, #""\u0000""#, "[]", "[[]]", "{}", #"{"a":{}}"#, "[null]",
        #"["x"]"#, #"[{"localId":"x","providerUserInfo":[{}],"mfaInfo":[{}],"passwordHash":7}]"#,
        #""http://localhost/?providerId=google.com&id_token=%7B%7D""#, #""a@b""#, "99999999999999999999",
    ]

    /// Each field of each request with values that it can't have: an error that says so, and no failure of the host.
    @Test(arguments: addresses) func hostileFieldsAreRefused(address: Address) async throws {
        try await SignInHost.serving { host in
            for (n, field) in Self.fields.enumerated() {
                // Of their own, since a new address ends the sign-ins.
                let user = try await host.signUp("ada\(n)@example.com", "right-one")
                let plain = #""idToken":"\#(user.idToken)","email":"ada\#(n)@example.com","localId":"\#(user.uid)""#
                for value in Self.values {
                    for json in ["{\"\(field)\":\(value)}", "{\(plain),\"\(field)\":\(value)}"] {
                        let answer = try await host.send(
                            address.path, method: address.method, json: json,
                            headers: address.isForAdmins ? [.authorization: "Bearer server"] : [:])
                        let isAnswer = answer.status == 200 || answer.status == 501
                        #expect(
                            isAnswer || (400..<500).contains(answer.status) && answer.status != 404,
                            "\(address.path) \(json): \(answer.status)")
                    }
                }
            }
            var problems: [String] = []
            _ = try host.pipeline.check(report: { problems.append($0) }, progress: { _ in })
            #expect(problems == [])
        }
    }

    @Test func productionVerifiesCustomTokens() async throws {
        let issuer = try TestIssuer.shared.get()
        let server = "server@functions-host"
        let tokens = CustomTokens { name, id in
            name == server && id == issuer.key.keyID ? [issuer.key.publicKey] : []
        }
        try await SignInHost.serving(policy: .production, customTokens: tokens) { host in
            func enter(_ changes: TestIssuer.Claims, by signer: TestIssuer) async throws -> String? {
                var claims: TestIssuer.Claims = [
                    "iss": server, "sub": server, "aud": IdentityToolkit.customTokenAudience, "uid": "ada",
                    "iat": TestIssuer.start, "exp": TestIssuer.start + 3600,
                ]
                claims.merge(changes) { $1 }
                let token = try signer.token(claims)
                return try await host.account("signInWithCustomToken", #"{"token":"\#(token)"}"#).body.errorMessage
            }
            #expect(try await enter([:], by: issuer) == nil)
            // As RFC 7519 allows.
            let start = Double(TestIssuer.start)
            #expect(try await enter(["iat": start + 0.25, "exp": start + 3600.25], by: issuer) == nil)
            for (changes, reason) in [
                (["aud": "elsewhere"], "audience"), (["iss": "other@x"], "key file"), (["sub": "other@x"], "sub"),
                (["exp": TestIssuer.start], "expired"), (["exp": TestIssuer.start + 3601], "times"),
                (["iat": TestIssuer.start + 301], "times"),
            ] as [(TestIssuer.Claims, String)] {
                let message = try await enter(changes, by: issuer)
                #expect(message?.hasPrefix("INVALID_CUSTOM_TOKEN : ") == true)
                #expect(message?.contains(reason) == true, "\(message ?? "")")
            }
            let stranger = try TestIssuer.stranger.get()
            #expect(try await enter([:], by: stranger)?.hasPrefix("INVALID_CUSTOM_TOKEN : ") == true)
            let unsigned = try TestIssuer.unsigned(["aud": IdentityToolkit.customTokenAudience, "uid": "ada"])
            let answer = try await host.account("signInWithCustomToken", #"{"token":"\#(unsigned)"}"#)
            #expect(answer.body.errorMessage?.hasPrefix("INVALID_CUSTOM_TOKEN : ") == true)
            let json = try await host.account("signInWithCustomToken", #"{"token":"{\"uid\":\"ada\"}"}"#)
            #expect(json.body.errorMessage?.hasPrefix("INVALID_CUSTOM_TOKEN : ") == true)
        }
    }

    /// Firebase's libraries for Node, Go and Java don't name the key.
    @Test func aCustomTokenNeedsNoKeyID() async throws {
        let server = "server@functions-host"
        let (issuer, former) = (try TestIssuer.shared.get(), try TestIssuer.stranger.get())
        let tokens = CustomTokens { name, id in
            name == server && id == nil ? [former.key.publicKey, issuer.key.publicKey] : []
        }
        let next = try TestIssuer.next.get()
        try await SignInHost.serving(policy: .production, customTokens: tokens) { host in
            let claims: TestIssuer.Claims = [
                "iss": server, "sub": server, "aud": IdentityToolkit.customTokenAudience, "uid": "ada",
                "iat": TestIssuer.start, "exp": TestIssuer.start + 3600,
            ]
            for (signer, status) in [(issuer, 200), (former, 200), (next, 400)] {
                let token = try signer.token(header: ["alg": "RS256", "typ": "JWT"], claims)
                let answer = try await host.account("signInWithCustomToken", #"{"token":"\#(token)"}"#)
                #expect(answer.status == status, "\(answer.body)")
            }
        }
    }

    // MARK: Pages

    @Test func linksLeadOnlyToAuthorizedSites() async throws {
        var configuration = SignInConfiguration()
        configuration.authorizedDomains = ["shop.example.com"]
        try await SignInHost.serving(policy: .production, configuration: configuration) { host in
            func follow(_ url: String) async throws -> (Int, String?) {
                let answer = try await host.send(
                    "/emulator/action?mode=signIn&oobCode=x&apiKey=k&continueUrl=\(url)", method: .get)
                return (answer.status, answer.headers[.location])
            }
            let (status, location) = try await follow("https://shop.example.com/in%3Fa=1%23top")
            #expect(status == 303)
            #expect(location == "https://shop.example.com/in?a=1&apiKey=k&mode=signIn&oobCode=x#top")
            for url in [
                "https://evil.example", "https://shop.example.com.evil.example",
                "https://evil.example%23@shop.example.com",
                "//shop.example.com", "javascript:alert(1)", "https://shop.example.com@evil.example",
                "http://localhost:3000",
            ] {
                let (status, location) = try await follow(url)
                #expect(status == 400, "\(url)")
                #expect(location == nil)
            }
        }
    }

    /// A browser shows a page, also if the link can't do what it is for, and no code for programs.
    @Test func whatALinkCannotDoIsExplained() async throws {
        try await SignInHost.serving(policy: .production) { host in
            func code(_ fields: String) async throws -> String {
                let answer = try await host.admin("sendOobCode", #"{\#(fields),"returnOobLink":true}"#)
                return try #require(answer.body["oobCode"]?.text)
            }
            func press(_ form: String) async throws -> (status: Int, type: String?, text: String) {
                let response = try await host.client.execute(
                    uri: "/emulator/action", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded", .accept: "text/html"],
                    body: ByteBuffer(string: form + "&apiKey=page"))
                return (response.status.code, response.headers[.contentType], String(buffer: response.body))
            }
            _ = try await host.signUp("ada@example.com", "secret-1")
            let change = try await code(
                #""requestType":"VERIFY_AND_CHANGE_EMAIL","email":"ada@example.com","newEmail":"bob@example.com""#)
            let other = try await host.signUp("bob@example.com", "secret-2")
            let taken = try await press("mode=verifyAndChangeEmail&oobCode=\(change)")
            #expect(taken.status == 400)
            #expect(taken.type == "text/html; charset=utf-8")
            #expect(taken.text.contains("Another account has it."))
            #expect(try await host.admin("delete", #"{"localId":"\#(other.uid)"}"#).status == 200)
            #expect(try await press("mode=verifyAndChangeEmail&oobCode=\(change)").status == 200)
            let reset = try await code(#""requestType":"PASSWORD_RESET","email":"bob@example.com""#)
            let weak = try await press("mode=resetPassword&oobCode=\(reset)&newPassword=short")
            #expect(weak.status == 400)
            #expect(weak.text.contains("<p class=\"hint\">Password should be at least 6 characters</p>"))
        }
    }

    /// With `no-referrer` a browser sends it with `Origin: null`, and the port refuses it as that of another site. The
    /// page's address has a code, which other sites must not see.
    @Test func theFormOfALinkHasItsOrigin() async throws {
        try await SignInHost.serving { host in
            _ = try await host.signUp("ada@example.com", "secret-1")
            let link = try await host.admin(
                "sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"ada@example.com","returnOobLink":true}"#)
            let code = try #require(link.body["oobCode"]?.text)
            let page = try await host.client.execute(
                uri: "/emulator/action?mode=resetPassword&oobCode=\(code)&apiKey=k", method: .get,
                headers: [.accept: "text/html"])
            #expect(String(buffer: page.body).contains(#"<form method="post" action="/emulator/action">"#))
            let name = try #require(HTTPField.Name("Referrer-Policy"))
            #expect(page.headers[name] == "same-origin")
        }
    }

    /// Redirects lead to an authorized `localhost` without TLS, and popups need the frame there.
    @Test func onlyAuthorizedSitesShowTheFrame() async throws {
        var configuration = SignInConfiguration()
        configuration.authorizedDomains = ["shop.example.com", "localhost"]
        try await SignInHost.serving(policy: .production, configuration: configuration) { host in
            let frame = try await host.client.execute(uri: "/emulator/auth/iframe?apiKey=k&appName=a", method: .get)
            let policy = try #require(frame.headers[.contentSecurityPolicy])
            #expect(policy.hasSuffix("; frame-ancestors 'self' https://shop.example.com:* http://localhost:*"))
        }
    }

    @Test func pagesRunOnlyTheirOwnScripts() async throws {
        try await SignInHost.serving { host in
            for path in [
                "/emulator/auth/handler?apiKey=k&providerId=%3Cscript%3Ealert(1)%3C/script%3E",
                "/emulator/auth/iframe?apiKey=k&appName=a",
            ] {
                let response = try await host.client.execute(uri: path, method: .get)
                let policy = try #require(response.headers[.contentSecurityPolicy])
                #expect(policy.contains("default-src 'none'"))
                #expect(!policy.contains("unsafe"))
                #expect(!String(buffer: response.body).contains("<script>alert(1)"))
            }
        }
    }
}
