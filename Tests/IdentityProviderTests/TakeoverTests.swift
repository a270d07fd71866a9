import CommitPipeline
import HTTPTypes
import HostTesting
import HummingbirdTesting
import NIOCore
import StrictJSON
import TestSupport
import Testing
import TextFormats
import TokenVerification

@testable import IdentityProvider
@testable import UserStore

/// An attacker who has an account for a moment, or makes one for another person's address, doesn't keep it.
@Suite struct TakeoverTests {
    private typealias Host = SignInHost

    /// The newest code of a kind for an address, from the list of development.
    private func code(_ host: Host, _ email: String, _ kind: String) async throws -> String {
        let answer = try await host.send(
            "/emulator/v1/projects/\(Host.project)/oobCodes", method: .get, headers: [.authorization: "Bearer owner"])
        let codes = try answer.body["oobCodes"]?.elements() ?? []
        let found = codes.last { $0["email"]?.isText(email) == true && $0["requestType"]?.isText(kind) == true }
        return try #require(found?["oobCode"]?.text, "\(kind) for \(email)")
    }

    private func ask(_ host: Host, _ kind: String, _ fields: String) async throws {
        let answer = try await host.account("sendOobCode", #"{"requestType":"\#(kind)",\#(fields)}"#)
        #expect(answer.status == 200, "\(answer.body.errorMessage ?? "")")
    }

    private func google(_ sub: String, _ email: String) -> String {
        let claims = #"{"sub":"\#(sub)","email":"\#(email)","email_verified":true}"#
        return "providerId=google.com&id_token=" + PercentEncoding.encoded(claims)
    }

    private func enter(_ host: Host, _ form: String, idToken: String? = nil) async throws -> Host.Answer {
        let token = idToken.map { #","idToken":"\#($0)""# } ?? ""
        return try await host.account(
            "signInWithIdp",
            #"{"requestUri":"http://localhost","postBody":"\#(form)","returnSecureToken":true\#(token)}"#)
    }

    /// An attacker signs up with another person's address, and adds all ways of signing in that there are.
    private func prepare(_ host: Host) async throws -> (uid: String, refreshToken: String) {
        let attacker = try await host.signUp("victim@example.com", "attacker-1")
        let linked = try await enter(host, google("attacker", "attacker@example.com"), idToken: attacker.idToken)
        #expect(linked.status == 200)
        let changed = try await host.admin(
            "update", #"{"localId":"\#(attacker.uid)","phoneNumber":"+4915112345678","emailVerified":false}"#)
        #expect(changed.status == 200)
        return (attacker.uid, try #require(linked.body["refreshToken"]?.text))
    }

    /// After the owner has come, nothing of the attacker's works.
    private func expectClean(_ host: Host, _ attacker: (uid: String, refreshToken: String)) async throws {
        let user = try #require(try await host.users.read { try $0.user(attacker.uid) })
        #expect(user.phoneNumber == nil)
        #expect(!user.identities.contains { $0.rawID == "attacker" })
        #expect(try await host.refresh(attacker.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
        #expect(try await host.signIn("victim@example.com", "attacker-1").status == 400)
    }

    @Test func theOwnerOfAnAddressGetsACleanAccountByALink() async throws {
        try await Host.serving { host in
            let attacker = try await prepare(host)
            try await ask(host, "EMAIL_SIGNIN", #""email":"victim@example.com","continueUrl":"http://localhost/in""#)
            let link = try await code(host, "victim@example.com", "EMAIL_SIGNIN")
            let owner = try await host.account(
                "signInWithEmailLink", #"{"email":"victim@example.com","oobCode":"\#(link)"}"#)
            #expect(owner.body["localId"]?.text == attacker.uid)
            try await expectClean(host, attacker)
            #expect(try await host.refresh(try #require(owner.body["refreshToken"]?.text)).status == 200)
        }
    }

    @Test func theOwnerOfAnAddressGetsACleanAccountByAReset() async throws {
        try await Host.serving { host in
            let attacker = try await prepare(host)
            try await ask(host, "PASSWORD_RESET", #""email":"victim@example.com""#)
            let link = try await code(host, "victim@example.com", "PASSWORD_RESET")
            let reset = try await host.account("resetPassword", #"{"oobCode":"\#(link)","newPassword":"owner-12"}"#)
            #expect(reset.status == 200)
            try await expectClean(host, attacker)
            #expect(try await host.signIn("victim@example.com", "owner-12").status == 200)
        }
    }

    @Test func theOwnerOfAnAddressGetsACleanAccountByAProvider() async throws {
        try await Host.serving { host in
            let attacker = try await prepare(host)
            let owner = try await enter(host, google("owner", "victim@example.com"))
            #expect(owner.body["localId"]?.text == attacker.uid)
            try await expectClean(host, attacker)
        }
    }

    /// Apple's tokens have no name.
    @Test(arguments: [true, false]) func aProviderWithoutAProfileTakesAwayOnlyThatOfAStranger(
        isVerified: Bool
    ) async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let profile = #""displayName":"Ada","photoUrl":"https://example.com/a.png","emailVerified":\#(isVerified)"#
            #expect(try await host.admin("update", #"{"localId":"\#(user.uid)",\#(profile)}"#).status == 200)
            let entered = try await enter(host, google("ada", "ada@example.com"))
            #expect(entered.body["localId"]?.text == user.uid)
            let stored = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(stored.displayName == (isVerified ? "Ada" : nil))
            #expect(stored.photoURL == (isVerified ? "https://example.com/a.png" : nil))
        }
    }

    @Test func recoveringAnAddressEndsTheSignInsOfWhoChangedIt() async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let changed = try await host.account("update", #"{"idToken":"\#(user.idToken)","email":"eve@example.com"}"#)
            let eve = try #require(changed.body["refreshToken"]?.text)
            let link = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            #expect(try await host.account("update", #"{"oobCode":"\#(link)"}"#).status == 200)
            #expect(try await host.refresh(eve).body.errorMessage == "TOKEN_EXPIRED")
            // Eve may know the password.
            #expect(try await host.signIn("ada@example.com", "secret-1").status == 400)
        }
    }

    /// A code for the address that an account had before its owner came doesn't take it back.
    @Test func whoPreparedAnAccountCannotRecoverIt() async throws {
        try await Host.serving { host in
            let attacker = try await host.signUp("evil@example.com", "attacker-1")
            let changed = try await host.account(
                "update", #"{"idToken":"\#(attacker.idToken)","email":"victim@example.com"}"#)
            #expect(changed.status == 200)
            let way = try await code(host, "evil@example.com", "RECOVER_EMAIL")
            try await ask(host, "PASSWORD_RESET", #""email":"victim@example.com""#)
            let link = try await code(host, "victim@example.com", "PASSWORD_RESET")
            let reset = try await host.account("resetPassword", #"{"oobCode":"\#(link)","newPassword":"owner-12"}"#)
            #expect(reset.status == 200)
            #expect(
                try await host.account("update", #"{"oobCode":"\#(way)"}"#).body.errorMessage == "INVALID_OOB_CODE")
            #expect(try await host.signIn("victim@example.com", "owner-12").status == 200)
        }
    }

    @Test func anAddressThatIsChangedByALinkCanBeRestored() async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let linked = try await enter(host, google("eve", "eve@example.com"), idToken: user.idToken)
            let stolen = try #require(linked.body["idToken"]?.text)
            try await ask(host, "VERIFY_AND_CHANGE_EMAIL", #""idToken":"\#(stolen)","newEmail":"eve@example.com""#)
            let change = try await code(host, "ada@example.com", "VERIFY_AND_CHANGE_EMAIL")
            #expect(try await host.account("update", #"{"oobCode":"\#(change)"}"#).status == 200)
            let way = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            #expect(try await host.account("update", #"{"oobCode":"\#(way)"}"#).status == 200)
            let restored = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(restored.email == "ada@example.com")
            // What the thief linked is gone.
            #expect(restored.identities.isEmpty)
        }
    }

    /// However a session replaces the address or takes it away, its owner can undo that.
    @Test(arguments: ["emailLink", "deleteAttribute", "deleteProvider", "signUp"])
    func eachWayToLoseAnAddressCanBeUndone(way: String) async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let stolen = #""idToken":"\#(user.idToken)""#
            switch way {
            case "emailLink":
                try await ask(host, "EMAIL_SIGNIN", #""email":"eve@example.com","continueUrl":"http://localhost/in""#)
                let link = try await code(host, "eve@example.com", "EMAIL_SIGNIN")
                let linked = try await host.account(
                    "signInWithEmailLink", #"{"email":"eve@example.com","oobCode":"\#(link)",\#(stolen)}"#)
                #expect(linked.body["localId"]?.text == user.uid)
                #expect(try await host.refresh(user.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            case "signUp":
                let taken = try await host.account(
                    "signUp", #"{"email":"eve@example.com","password":"evil-123",\#(stolen)}"#)
                #expect(taken.status == 200)
            case "deleteAttribute":
                #expect(try await host.account("update", #"{"deleteAttribute":["EMAIL"],\#(stolen)}"#).status == 200)
                let set = try await host.account("update", #"{"email":"eve@example.com",\#(stolen)}"#)
                #expect(set.status == 200)
            default:
                #expect(try await host.account("update", #"{"deleteProvider":["password"],\#(stolen)}"#).status == 200)
            }
            let undo = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            #expect(try await host.account("update", #"{"oobCode":"\#(undo)"}"#).status == 200)
            let restored = try #require(try await host.users.read { try $0.user(email: "ada@example.com") })
            #expect(restored.uid == user.uid && restored.password == nil && restored.isEmailVerified)
            #expect(try await host.signIn("eve@example.com", "evil-123").status == 400)
        }
    }

    /// A thief who changes their own address once more gets no code for it, and doesn't make the owner's useless.
    @Test func theFirstOfSeveralLostAddressesIsRestored() async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            var token = user.idToken
            for email in ["eve@example.com", "eve2@example.com", "eve3@example.com"] {
                let changed = try await host.account("update", #"{"idToken":"\#(token)","email":"\#(email)"}"#)
                token = try #require(changed.body["idToken"]?.text)
                _ = try await host.admin("update", #"{"localId":"\#(user.uid)","emailVerified":true}"#)
            }
            let codes = try await host.send(
                "/emulator/v1/projects/\(Host.project)/oobCodes", method: .get,
                headers: [.authorization: "Bearer owner"])
            let receivers = try codes.body["oobCodes"]?.elements().compactMap { $0["email"]?.text }
            #expect(Set(receivers ?? []) == ["ada@example.com"])
            let undo = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            #expect(try await host.account("update", #"{"oobCode":"\#(undo)"}"#).status == 200)
            let restored = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(restored.email == "ada@example.com" && restored.recoveryEmail == nil)
        }
    }

    /// Its owner may have signed up with it after another had, by mistake or not, and then changed it.
    @Test func anAddressThatWasNeverVerifiedIsTakenFromNoAccount() async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let changed = try await host.account("update", #"{"idToken":"\#(user.idToken)","email":"eve@example.com"}"#)
            #expect(changed.status == 200)
            let holder = try await host.signUp("ada@example.com", "secret-2")
            let undo = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            let refused = try await host.account("update", #"{"oobCode":"\#(undo)"}"#)
            #expect(refused.body.errorMessage?.hasPrefix("EMAIL_EXISTS") == true)
            #expect(try await host.refresh(holder.refreshToken).status == 200)
        }
    }

    /// A thief may change the address, and sign up with the one that was lost.
    @Test func aLostAddressIsTakenFromAnAccountThatHasNotVerifiedIt() async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let verified = #"{"localId":"\#(user.uid)","emailVerified":true}"#
            #expect(try await host.admin("update", verified).status == 200)
            let changed = try await host.account("update", #"{"idToken":"\#(user.idToken)","email":"eve@example.com"}"#)
            #expect(changed.status == 200)
            let holder = try await host.signUp("ada@example.com", "evil-123")
            let undo = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            let json = #"{"localId":"\#(holder.uid)","emailVerified":true}"#
            #expect(try await host.admin("update", json).status == 200)
            let refused = try await host.account("update", #"{"oobCode":"\#(undo)"}"#)
            #expect(refused.body.errorMessage?.hasPrefix("EMAIL_EXISTS : Another account has this") == true)
            let page = try await host.send(
                "/emulator/action?mode=recoverEmail&oobCode=\(undo)&apiKey=k", method: .get)
            #expect(page.status == 400)
            _ = try await host.admin("update", json.replacing("true", with: "false"))
            #expect(try await host.account("update", #"{"oobCode":"\#(undo)"}"#).status == 200)
            let restored = try #require(try await host.users.read { try $0.user(email: "ada@example.com") })
            #expect(restored.uid == user.uid && restored.isEmailVerified)
            let other = try #require(try await host.users.read { try $0.user(holder.uid) })
            #expect(other.email == nil && other.password == nil)
            #expect(try await host.refresh(holder.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.signIn("ada@example.com", "evil-123").status == 400)
            var problems: [String] = []
            _ = try host.pipeline.check(report: { problems.append($0) }, progress: { _ in })
            #expect(problems == [])
        }
    }

    /// A thief may change the address, add a second factor, and change the address again.
    @Test func eachCodeForALostAddressEndsTheSecondFactorsOfWhoTookIt() async throws {
        let clock = ManualClock.atIssue()
        try await Host.serving(now: clock.wall) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            _ = try await host.admin("update", #"{"localId":"\#(user.uid)","emailVerified":true}"#)
            func enroll(_ id: String) async throws {
                let uid = user.uid
                try await host.users.commit { transaction in
                    guard var known = try transaction.user(uid) else { return }
                    known.secondFactors.append(
                        SecondFactor(
                            id: id, displayName: nil, enrolledAt: transaction.milliseconds,
                            kind: .authenticator(secret: [1], lastPeriod: 0)))
                    try transaction.update(known)
                }
                clock.advance(by: .seconds(10))
            }
            func move(_ idToken: String, from old: String, to new: String) async throws {
                try await ask(host, "VERIFY_AND_CHANGE_EMAIL", #""idToken":"\#(idToken)","newEmail":"\#(new)""#)
                let change = try await code(host, old, "VERIFY_AND_CHANGE_EMAIL")
                #expect(try await host.account("update", #"{"oobCode":"\#(change)"}"#).status == 200)
                clock.advance(by: .seconds(10))
            }
            try await enroll("own")
            try await move(user.idToken, from: "ada@example.com", to: "eve@example.com")
            // The thief's sign-in with the second factor is left out.
            let entered = try await host.account(
                "signInWithCustomToken", #"{"token":"{\"uid\":\"\#(user.uid)\"}"}"#)
            try await enroll("thief")
            try await move(
                try #require(entered.body["idToken"]?.text), from: "eve@example.com", to: "eve2@example.com")
            let undo = try await code(host, "ada@example.com", "RECOVER_EMAIL")
            #expect(try await host.account("update", #"{"oobCode":"\#(undo)"}"#).status == 200)
            let restored = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(restored.email == "ada@example.com")
            #expect(restored.secondFactors.map(\.id) == ["own"])
        }
    }

    /// A thief who knows the password may have signed in before the owner had a second factor.
    @Test func secondFactorsAreChangedByWhoHasProvedOne() async throws {
        try await Host.serving { host in
            let thief = try await host.signUp("ada@example.com", "secret-1")
            _ = try await host.admin("update", #"{"localId":"\#(thief.uid)","emailVerified":true}"#)
            func change(_ operation: String, _ idToken: String, _ fields: String) async throws -> Host.Answer {
                try await host.send(
                    "/identitytoolkit.googleapis.com/v2/accounts/mfaEnrollment:\(operation)?key=k",
                    json: #"{"idToken":"\#(idToken)",\#(fields)}"#)
            }
            func start(_ idToken: String) async throws -> Host.Answer {
                try await change("start", idToken, #""totpEnrollmentInfo":{}"#)
            }
            func finish(_ idToken: String, _ started: Host.Answer) async throws -> Host.Answer {
                let info = try #require(started.body["totpSessionInfo"])
                let secret = try #require(Authenticator.secret(in: info["sharedSecretKey"]?.text ?? ""))
                let code = Authenticator.code(secret, in: TestIssuer.start / Authenticator.period)
                let session = info["sessionInfo"]?.text ?? ""
                return try await change(
                    "finalize", idToken,
                    #""totpVerificationInfo":{"sessionInfo":"\#(session)","verificationCode":"\#(code)"}"#)
            }
            func factors() async throws -> [String] {
                try await host.users.read { try $0.user(thief.uid)?.secondFactors.map(\.id) ?? [] }
            }
            let begun = try await start(thief.idToken)
            let signedIn = try await host.signIn("ada@example.com", "secret-1")
            let own = try #require(signedIn.body["idToken"]?.text)
            let enrolled = try await finish(own, try await start(own))
            #expect(enrolled.status == 200)
            let first = try #require(try await factors().first)
            let stolen = try #require(try await host.refresh(thief.refreshToken).body["id_token"]?.text)
            for answer in [
                try await change("withdraw", stolen, #""mfaEnrollmentId":"\#(first)""#), try await start(stolen),
                try await finish(stolen, begun),
            ] {
                #expect(answer.body.errorMessage?.hasPrefix("CREDENTIAL_TOO_OLD_LOGIN_AGAIN : ") == true)
            }
            #expect(try await factors() == [first])
            // The owner's sign-in has proved one, and after that still has.
            let proved = try #require(enrolled.body["idToken"]?.text)
            let more = try await finish(proved, try await start(proved))
            let second = try #require(try await factors().last)
            let token = try #require(more.body["idToken"]?.text)
            let left = try await change("withdraw", token, #""mfaEnrollmentId":"\#(first)""#)
            let rest = try #require(left.body["idToken"]?.text)
            #expect(try await factors() == [second])
            #expect(try await change("withdraw", rest, #""mfaEnrollmentId":"\#(second)""#).status == 200)
            #expect(try await factors() == [])
        }
    }

    /// An attacker who takes away the address of a verified account could prepare it, with a second factor, for another's address.
    @Test func anAccountWithSecondFactorsTakesNoUnverifiedAddress() async throws {
        try await Host.serving { host in
            let user = try await host.signUp("evil@example.com", "attacker-1")
            let factors = #"{"enrollments":[{"mfaEnrollmentId":"f","phoneInfo":"+4915112345678"}]}"#
            let enrolled = try await host.admin(
                "update", #"{"localId":"\#(user.uid)","emailVerified":true,"mfa":\#(factors)}"#)
            #expect(enrolled.status == 200)
            let token = #""idToken":"\#(user.idToken)""#
            #expect(try await host.account("update", #"{\#(token),"deleteAttribute":["EMAIL"]}"#).status == 200)
            let claims = #"{"sub":"attacker","email":"victim@example.com","email_verified":false}"#
            let linked = try await enter(
                host, "providerId=google.com&id_token=" + PercentEncoding.encoded(claims), idToken: user.idToken)
            #expect(linked.status == 200)
            let known = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(known.email == nil && known.identities.map(\.rawID) == ["attacker"])
            #expect(try await host.signUp("victim@example.com", "owner-12").uid != user.uid)
            // A verified one is the user's own.
            let own = try await enter(host, google("own", "own@example.com"), idToken: user.idToken)
            #expect(own.status == 200)
            #expect(try await host.users.read { try $0.user(user.uid)?.email } == "own@example.com")
        }
    }

    /// An admin gives an account that a thief has prepared, or changed, to its owner.
    @Test(arguments: [#""email":"ada@example.com""#, #""deleteAttribute":["EMAIL"]"#])
    func whatAnAdminTookAwayCannotBeRestored(change: String) async throws {
        try await Host.serving { host in
            let user = try await host.signUp("first@example.com", "secret-1")
            let moved = try await host.account("update", #"{"idToken":"\#(user.idToken)","email":"eve@example.com"}"#)
            #expect(moved.status == 200)
            let way = try await code(host, "first@example.com", "RECOVER_EMAIL")
            #expect(try await host.admin("update", #"{"localId":"\#(user.uid)",\#(change)}"#).status == 200)
            let known = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(known.initialEmail == nil && known.recoveryEmail == nil && known.recoverySince == nil)
            #expect(
                try await host.account("update", #"{"oobCode":"\#(way)"}"#).body.errorMessage == "INVALID_OOB_CODE")
            let codes = try await host.send(
                "/emulator/v1/projects/\(Host.project)/oobCodes", method: .get,
                headers: [.authorization: "Bearer owner"])
            let receivers = try codes.body["oobCodes"]?.elements().compactMap { $0["email"]?.text }
            #expect(receivers?.contains("eve@example.com") == false)
        }
    }

    /// A mailbox that was given up years ago has no say in later changes.
    @Test func anAddressThatWasLostLongAgoGetsNoCode() async throws {
        let clock = ManualClock.atIssue()
        try await Host.serving(now: clock.wall) { host in
            let user = try await host.signUp("first@example.com", "secret-1")
            for (email, lost) in [
                ("second@example.com", "first@example.com"), ("third@example.com", "second@example.com"),
            ] {
                let signedIn = try await host.signIn(lost, "secret-1")
                let token = try #require(signedIn.body["idToken"]?.text)
                let changed = try await host.account("update", #"{"idToken":"\#(token)","email":"\#(email)"}"#)
                #expect(changed.status == 200)
                _ = try await code(host, lost, "RECOVER_EMAIL")
                clock.advance(by: .seconds(31 * 86_400))
            }
            let known = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(known.initialEmail == "first@example.com" && known.recoveryEmail == "second@example.com")
        }
    }

    @Test func aLinkFromBeforeTheOwnerEndedAllSignInsIsNoLongerGood() async throws {
        let clock = ManualClock.atIssue()
        try await Host.serving(now: clock.wall) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            _ = try await host.admin("update", #"{"localId":"\#(user.uid)","emailVerified":true}"#)
            try await ask(host, "EMAIL_SIGNIN", #""email":"ada@example.com","continueUrl":"http://localhost/in""#)
            let link = try await code(host, "ada@example.com", "EMAIL_SIGNIN")
            clock.advance(by: .seconds(1))
            let changed = try await host.account("update", #"{"idToken":"\#(user.idToken)","password":"secret-2"}"#)
            #expect(changed.status == 200)
            let entered = try await host.account(
                "signInWithEmailLink", #"{"email":"ada@example.com","oobCode":"\#(link)"}"#)
            #expect(entered.body.errorMessage == "INVALID_OOB_CODE")
        }
    }

    /// With an account of their own, anyone could ask for any number of addresses.
    @Test func hiddenAccountsAreNotToldByAChangeOfAddress() async throws {
        var configuration = SignInConfiguration()
        configuration.hidesAccounts = true
        try await Host.serving(configuration: configuration) { host in
            _ = try await host.signUp("ada@example.com", "secret-1")
            let eve = try await host.signUp("eve@example.com", "secret-2")
            for email in ["ada@example.com", "free@example.com"] {
                let answer = try await host.account("update", #"{"idToken":"\#(eve.idToken)","email":"\#(email)"}"#)
                #expect(answer.body.errorMessage == IdentityToolkit.unverifiedChange)
            }
        }
    }

    /// A mark before or after a bracket makes one character of both.
    @Test func textsInPagesAreTexts() {
        for mark in ["\u{600}", "\u{301}", ""] {
            let html = Page.escaped("\(mark)<b\(mark)>\(mark)\"\(mark)'\(mark)&\(mark)")
            #expect(html.unicodeScalars.allSatisfy { !["<", ">", "\"", "'"].contains($0) })
            #expect(html.unicodeScalars.count { $0 == "&" } == 5)
        }
    }

    /// A thief may refresh in each second, and so in the one in which the owner acts.
    @Test(arguments: ["password", "email", "reset", "revocation"])
    func tokensOfTheSecondInWhichSignInsEndAreRefused(way: String) async throws {
        try await Host.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let stolen = try #require(try await host.refresh(user.refreshToken).body["id_token"]?.text)
            let asked = #""idToken":"\#(stolen)","newEmail":"eve@example.com""#
            try await ask(host, "VERIFY_AND_CHANGE_EMAIL", asked)
            let mailed = try await code(host, "ada@example.com", "VERIFY_AND_CHANGE_EMAIL")
            let own: Host.Answer
            switch way {
            case "password", "email":
                let field = way == "email" ? #""email":"new@example.com""# : #""password":"secret-2""#
                own = try await host.account("update", #"{"idToken":"\#(user.idToken)",\#(field)}"#)
            case "reset":
                try await ask(host, "PASSWORD_RESET", #""email":"ada@example.com""#)
                let link = try await code(host, "ada@example.com", "PASSWORD_RESET")
                _ = try await host.account("resetPassword", #"{"oobCode":"\#(link)","newPassword":"secret-2"}"#)
                own = try await host.signIn("ada@example.com", "secret-2")
            default:
                let time = #""validSince":"\#(TestIssuer.start)""#
                #expect(try await host.admin("update", #"{"localId":"\#(user.uid)",\#(time)}"#).status == 200)
                own = try await host.signIn("ada@example.com", "secret-1")
            }
            for token in [stolen, user.idToken] {
                let taken = try await host.account("update", #"{"idToken":"\#(token)","password":"evil-123"}"#)
                #expect(taken.body.errorMessage == "TOKEN_EXPIRED")
            }
            #expect(try await host.refresh(user.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
            let answer = try await host.account("update", #"{"oobCode":"\#(mailed)"}"#)
            #expect(answer.body.errorMessage == "INVALID_OOB_CODE")
            // The owner's new tokens are used in the same second.
            var current = try #require(own.body["idToken"]?.text)
            #expect(try await host.account("lookup", #"{"idToken":"\#(current)"}"#).status == 200)
            let refreshed = try await host.refresh(try #require(own.body["refreshToken"]?.text))
            current = try #require(refreshed.body["id_token"]?.text)
            #expect(try await host.account("lookup", #"{"idToken":"\#(current)"}"#).status == 200)
            // So are codes.
            let name = way == "email" ? "new@example.com" : "ada@example.com"
            try await ask(host, "PASSWORD_RESET", #""email":"\#(name)""#)
            let link = try await code(host, name, "PASSWORD_RESET")
            let reset = try await host.account("resetPassword", #"{"oobCode":"\#(link)","newPassword":"secret-3"}"#)
            #expect(reset.status == 200)
        }
    }

    /// Within the same second, so that no time tells the two users apart.
    @Test(arguments: ["create", "import", "custom token"])
    func whatADeletedUserHadIsNotGoodForANewOneOfTheSameUID(way: String) async throws {
        try await Host.serving { host in
            let uid: String
            let old: String
            if way == "import" {
                let user = try await host.signUp("ada@example.com", "secret-1")
                uid = user.uid
                old = user.idToken
            } else {
                uid = "ada"
                let created = try await host.admin(
                    "signUp", #"{"localId":"ada","email":"ada@example.com","password":"secret-1"}"#)
                #expect(created.status == 200)
                let entered = try await host.signIn("ada@example.com", "secret-1")
                old = try #require(entered.body["idToken"]?.text)
            }
            try await ask(host, "PASSWORD_RESET", #""email":"ada@example.com""#)
            let reset = try await code(host, "ada@example.com", "PASSWORD_RESET")
            try await ask(host, "VERIFY_AND_CHANGE_EMAIL", #""idToken":"\#(old)","newEmail":"eve@example.com""#)
            let change = try await code(host, "ada@example.com", "VERIFY_AND_CHANGE_EMAIL")
            #expect(try await host.admin("delete", #"{"localId":"\#(uid)"}"#).status == 200)
            let made: Host.Answer
            switch way {
            case "create":
                made = try await host.admin("signUp", #"{"localId":"\#(uid)","email":"ada@example.com"}"#)
            case "import":
                made = try await host.admin(
                    "batchCreate", #"{"users":[{"localId":"\#(uid)","email":"ada@example.com"}]}"#)
            default:
                made = try await host.account("signInWithCustomToken", #"{"token":"{\"uid\":\"\#(uid)\"}"}"#)
                // Leaves the user's sign-ins as they are.
                try await host.users.commit { transaction in
                    var user = try #require(try transaction.user(uid))
                    user.email = "ada@example.com"
                    try transaction.update(user)
                }
            }
            #expect(made.status == 200)
            let taken = try await host.account("update", #"{"idToken":"\#(old)","password":"evil-123"}"#)
            #expect(taken.body.errorMessage == "TOKEN_EXPIRED")
            let set = try await host.account("resetPassword", #"{"oobCode":"\#(reset)","newPassword":"evil-123"}"#)
            #expect(set.body.errorMessage == "INVALID_OOB_CODE")
            let changed = try await host.account("update", #"{"oobCode":"\#(change)"}"#)
            #expect(changed.body.errorMessage == "INVALID_OOB_CODE")
        }
    }

    @Test func whatAStolenSessionAskedForEndsWithIt() async throws {
        let clock = ManualClock.atIssue()
        try await Host.serving(now: clock.wall) { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let stolen = user.idToken
            try await ask(host, "VERIFY_AND_CHANGE_EMAIL", #""idToken":"\#(stolen)","newEmail":"eve@example.com""#)
            try await ask(host, "PASSWORD_RESET", #""email":"ada@example.com""#)
            clock.advance(by: .seconds(1))
            let changed = try await host.account("update", #"{"idToken":"\#(stolen)","password":"secret-2"}"#)
            #expect(changed.status == 200)
            for kind in ["VERIFY_AND_CHANGE_EMAIL", "PASSWORD_RESET"] {
                let link = try await code(host, "ada@example.com", kind)
                let operation = kind == "PASSWORD_RESET" ? "resetPassword" : "update"
                let answer = try await host.account(operation, #"{"oobCode":"\#(link)","newPassword":"evil-123"}"#)
                #expect(answer.body.errorMessage == "INVALID_OOB_CODE", "\(kind)")
            }
            #expect(try await host.signIn("ada@example.com", "secret-2").status == 200)
        }
    }

    @Test func aTokenThatIsUsedEverywhereWithoutItsSuccessorsEnds() async throws {
        try await Host.serving { host in
            let user = try await host.signUp()
            for n in 1...IdentityToolkit.maxLostSuccessors {
                #expect(try await host.refresh(user.refreshToken, from: "198.51.100.\(n)").status == 200)
            }
            #expect(try await host.refresh(user.refreshToken, from: "203.0.113.1").body.errorMessage == "TOKEN_EXPIRED")
            #expect(try await host.refresh(user.refreshToken).body.errorMessage == "TOKEN_EXPIRED")
        }
    }

    /// A phone that changes networks all the time stays signed in, and costs no more than one that doesn't.
    @Test func aSignInOutlivesManyNetworks() async throws {
        try await Host.serving { host in
            let user = try await host.signUp()
            let other = try await host.signUp()
            var token = user.refreshToken
            for n in 0..<700 {
                let answer = try await host.refresh(token, from: "198.51.\(n / 250).\(n % 250)")
                #expect(answer.status == 200, "\(n)")
                token = try #require(answer.body["refresh_token"]?.text)
            }
            #expect(
                try await host.users.read {
                    try $0.keys(startingWith: UserKeys.tokens(of: user.uid), limit: .max).count
                } <= 3)
            #expect(try await host.refresh(other.refreshToken).status == 200)
        }
    }

    @Test func noTimeOfAnAdminStopsTheHost() async throws {
        try await Host.serving { host in
            for time in ["9223372036854775807", "-9223372036854775808", "0"] {
                let user = try await host.signUp()
                let answer = try await host.admin(
                    "update", #"{"localId":"\#(user.uid)","createdAt":"\#(time)","lastLoginAt":"\#(time)"}"#)
                #expect(answer.status == 200)
                #expect(try await host.admin("lookup", #"{"localId":["\#(user.uid)"]}"#).status == 200)
                #expect(try await host.admin("delete", #"{"localId":"\#(user.uid)"}"#).status == 200)
            }
        }
    }

    @Test(arguments: [
        #"https://evil.example\@shop.example.com/x"#, "https://evil.example\t@shop.example.com",
        "https://a:b@shop.example.com",
        "https://shop.example.com\\.evil.example", "https:shop.example.com", "https:///shop.example.com", "https://",
        "https://shop.example.com /", "https://evil.example\n.shop.example.com",
    ]) func anAddressThatBrowsersReadInAnotherWayIsNone(_ text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test func ordinaryAddressesAreRead() {
        for (text, host) in [
            ("https://shop.example.com", "shop.example.com"),
            ("https://Shop.Example.com:8443/a?b#c", "shop.example.com"),
            ("http://localhost:3000/", "localhost"), ("com.example.app://callback", "callback"),
        ] {
            #expect(WebAddress(text)?.host == host, "\(text)")
        }
    }

    /// The page would lead to the first, and the last was checked.
    @Test func aRepeatedParameterIsTheOneThatWasChecked() async throws {
        try await Host.serving { host in
            let response = try await host.client.execute(
                uri: "/emulator/auth/handler?apiKey=k&providerId=google.com&redirectUrl=https://evil.example"
                    + "&redirectUrl=http://localhost:3000/", method: .get)
            let text = String(buffer: response.body)
            #expect(response.status == .ok)
            #expect(text.contains("localhost%3A3000"))
            #expect(!text.contains("evil.example"))
            #expect(!text.contains("location.search"))
        }
    }
}
