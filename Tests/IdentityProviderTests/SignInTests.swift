import CommitPipeline
import HostTesting
import StrictJSON
import TestSupport
@testable import TokenVerification
@testable import IdentityProvider
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import TextFormats
import UserStore

@Suite struct SignInTests {
    private typealias Answer = SignInHost.Answer

    private static let project = TestIssuer.project

    private func verifier(_ now: @escaping WallClock = { TestIssuer.start }) throws -> TokenVerifier {
        TokenVerifier(
            kind: .idToken(project: Self.project), policy: .production,
            localKeys: try LocalKeys(TestIssuer.shared.get().key.keys), remoteKeys: nil, now: now)
    }

    private func expect(_ answer: Answer, _ message: String, status: Int = 400) {
        #expect(answer.status == status)
        let error = answer.body["error"]
        #expect(error?["code"]?.seconds == Int64(status))
        #expect(error?["message"]?.text == message)
        guard case .array(let errors)? = error?["errors"]?.kind else {
            Issue.record("no list of errors")
            return
        }
        #expect(errors.first?["message"]?.text == message)
        #expect(errors.first?["domain"]?.text == "global")
    }

    private func expectInvalidJSON(_ answer: Answer) {
        #expect(answer.status == 400)
        #expect(answer.body["error"]?["status"]?.text == "INVALID_ARGUMENT")
        #expect(answer.body["error"]?["message"]?.text?.hasPrefix("Invalid JSON payload received.") == true)
    }

    @Test func anonymousSignUpGivesATokenThatVerifiesAsGooglesDo() async throws {
        let verifier = try verifier()
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            guard case .valid(let token) = verifier.verify(user.idToken) else {
                Issue.record("refused")
                return
            }
            #expect(token.subject == user.uid)
            #expect(user.uid.utf8.count == 28)
            let claims = try JSONNode(parsing: Array(token.claims.readableBytesView))
            #expect(claims["provider_id"]?.text == "anonymous")
            #expect(claims["user_id"]?.text == user.uid)
            #expect(claims["auth_time"]?.seconds == TestIssuer.start)
            #expect(claims["exp"]?.seconds == TestIssuer.start + 3600)
            #expect(claims["firebase"]?["sign_in_provider"]?.text == "anonymous")
            #expect(try #require(claims["firebase"]?["identities"]).summary == "an object")
        }
    }

    @Test func servedCertificateVerifiesTheToken() async throws {
        let path = "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let served = try await host.client.execute(uri: path, method: .get)
            #expect(served.headers[.cacheControl] == "public, max-age=3600, must-revalidate")
            let keys = try KeyDocument.certificates.keys(in: Array(served.body.readableBytesView))
            let verifier = TokenVerifier(
                kind: .idToken(project: Self.project), policy: .production, localKeys: LocalKeys(keys), remoteKeys: nil,
                now: { TestIssuer.start })
            guard case .valid = verifier.verify(user.idToken) else {
                Issue.record("refused")
                return
            }
        }
    }

    @Test func lookupDescribesTheUser() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let (status, body, _) = try await host.account("lookup", #"{"idToken":"\#(user.idToken)"}"#)
            #expect(status == 200)
            guard case .array(let users)? = body["users"]?.kind else {
                Issue.record("no users")
                return
            }
            #expect(users.count == 1)
            #expect(users[0]["localId"]?.text == user.uid)
            #expect(users[0]["createdAt"]?.text == "\(TestIssuer.start)000")
        }
    }

    /// Android sends the numbers of an enum.
    @Test(arguments: [#""DISPLAY_NAME","PHOTO_URL""#, "2,4"])
    func aProfileIsTakenAway(attributes: String) async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "secret-1")
            let token = #""idToken":"\#(user.idToken)""#
            let profile = #""displayName":"Ada","photoUrl":"https://example.com/a.png""#
            let given = try await host.account("update", "{\(token),\(profile)}")
            #expect(given.body["displayName"]?.text == "Ada")
            let taken = try await host.account("update", "{\(token),\"deleteAttribute\":[\(attributes)]}")
            #expect(taken.status == 200)
            #expect(taken.body["displayName"] == nil)
            #expect(taken.body["photoUrl"] == nil)
            #expect(taken.body["email"]?.text == "ada@example.com")
        }
    }

    @Test func refreshGivesAFreshTokenOfTheSameSignIn() async throws {
        let clock = ManualClock.atIssue()
        let verifier = try verifier(clock.wall)
        try await SignInHost.serving(now: clock.wall) { host in
            let user = try await host.signUp()
            clock.advance(by: .seconds(5000))
            let (status, body, _) = try await host.refresh(user.refreshToken)
            #expect(status == 200)
            #expect(body["refresh_token"]?.text == user.refreshToken)
            #expect(body["user_id"]?.text == user.uid)
            #expect(body["project_id"]?.text == Self.project)
            #expect(body["expires_in"]?.text == "3600")
            guard case .valid(let token) = verifier.verify(try #require(body["id_token"]?.text)) else {
                Issue.record("refused")
                return
            }
            let claims = try JSONNode(parsing: Array(token.claims.readableBytesView))
            #expect(claims["auth_time"]?.seconds == TestIssuer.start)
            #expect(claims["iat"]?.seconds == TestIssuer.start + 5000)
        }
    }

    /// The web SDK signs its user out on any error in JSON, whatever its status.
    @Test func whatMayPassIsNoErrorOfTheSession() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            await host.pipeline.shutdown()
            for answer in [
                try await host.refresh(user.refreshToken),
                try await host.account("lookup", #"{"idToken":"\#(user.idToken)"}"#),
            ] {
                #expect(answer.status == 503)
                #expect(answer.headers[.contentType] == "text/plain; charset=UTF-8")
            }
            let server = try await host.admin("lookup", #"{"localId":["\#(user.uid)"]}"#)
            expect(server, "The service is currently unavailable.", status: 503)
        }
    }

    /// When a page is loaded, its App Check provider may be down, or not yet there.
    @Test func anAppWithoutAppCheckTokenKeepsItsUser() async throws {
        let apps = AppCheckGate(
            .enforced, figures: AppCheckFigures(service: "auth"),
            verifier: TokenVerifier(
                kind: .appCheck(project: SignInHost.project), policy: .production, remoteKeys: nil))
        try await SignInHost.serving(apps: apps) { host in
            for answer in [
                try await host.refresh("uid.secret"), try await host.account("lookup", #"{"idToken":"x"}"#),
            ] {
                #expect(answer.status == 401)
                #expect(answer.headers[.contentType] == "text/plain; charset=UTF-8")
            }
            // Who signs in learns what is wrong.
            let refused = try await host.signIn("ada@example.com", "secret-1")
            #expect(refused.status == 401)
            #expect(refused.body.errorMessage == "Firebase App Check token is invalid.")
        }
    }

    @Test func refreshTakesJSONAsPhonesSendIt() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let answer = try await host.send(
                "/securetoken.googleapis.com/v1/token?key=fake",
                json: #"{"grantType":"refresh_token","refreshToken":"\#(user.refreshToken)"}"#)
            #expect(answer.status == 200)
        }
    }

    @Test func refreshRefusesInvalidRequests() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let other = try await host.signUp()
            let path = "/securetoken.googleapis.com/v1/token?key=fake"
            expect(try await host.send(path, form: "refresh_token=x"), "MISSING_GRANT_TYPE")
            expect(try await host.send(path, form: "grant_type=password&refresh_token=x"), "INVALID_GRANT_TYPE")
            expect(try await host.send(path, form: "grant_type=refresh_token"), "MISSING_REFRESH_TOKEN")
            expect(try await host.refresh("\(user.uid).guess"), "TOKEN_EXPIRED")
            let secret = try #require(other.refreshToken.split(separator: ".").last)
            expect(try await host.refresh("\(user.uid).\(secret)"), "TOKEN_EXPIRED")
            expect(try await host.refresh("x"), "INVALID_REFRESH_TOKEN")
            expect(try await host.refresh("missing.x"), "USER_NOT_FOUND")
        }
    }

    @Test func deletedUserIsGoneForLookupAndRefresh() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            let token = #"{"idToken":"\#(user.idToken)"}"#
            #expect(try await host.account("delete", token).status == 200)
            expect(try await host.account("lookup", token), "USER_NOT_FOUND")
            expect(try await host.account("delete", token), "USER_NOT_FOUND")
            expect(try await host.refresh(user.refreshToken), "USER_NOT_FOUND")
        }
    }

    @Test func lookupVerifiesItsToken() async throws {
        let clock = ManualClock.atIssue()
        let stranger = try TestIssuer.stranger.get().token()
        let unsigned = try TestIssuer.unsigned(TestIssuer.idTokenClaims)
        try await SignInHost.serving(now: clock.wall) { host in
            let user = try await host.signUp()
            expect(try await host.account("lookup", "{}"), "MISSING_ID_TOKEN")
            expect(try await host.account("lookup", #"{"idToken":"x"}"#), "INVALID_ID_TOKEN")
            expect(try await host.account("lookup", #"{"idToken":"\#(stranger)"}"#), "INVALID_ID_TOKEN")
            // Development takes an unsigned token for what it says; its user doesn't exist.
            expect(try await host.account("lookup", #"{"idToken":"\#(unsigned)"}"#), "USER_NOT_FOUND")
            clock.advance(by: .seconds(3600))
            expect(try await host.account("lookup", #"{"idToken":"\#(user.idToken)"}"#), "TOKEN_EXPIRED")
        }
    }

    @Test func productionTakesNoUnsignedToken() async throws {
        let unsigned = try TestIssuer.unsigned(TestIssuer.idTokenClaims)
        try await SignInHost.serving(policy: .production) { host in
            expect(try await host.account("lookup", #"{"idToken":"\#(unsigned)"}"#), "INVALID_ID_TOKEN")
        }
    }

    @Test func usersSurviveARestart() async throws {
        let directory = try TemporaryDirectory()
        let user = try await SignInHost.serving(in: directory) { try await $0.signUp() }
        try await SignInHost.serving(in: directory) { host in
            let refreshed = try await host.refresh(user.refreshToken)
            #expect(refreshed.status == 200)
            let found = try await host.account("lookup", #"{"idToken":"\#(user.idToken)"}"#)
            #expect(found.status == 200)
        }
    }

    @Test func refreshTokensAreNotInTheFile() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        try await SignInHost.serving(in: directory) { host in
            let user = try await host.signUp()
            let secret = try #require(user.refreshToken.split(separator: ".").last)
            for file in try FileManager.default.contentsOfDirectory(atPath: directory.path) where file != "auth" {
                let content = try #require(FileManager.default.contents(atPath: directory.path + "/" + file))
                #expect(content.range(of: Data(secret.utf8)) == nil)
            }
        }
    }

    @Test func malformedRequestsAreRefusedInTheSameForm() async throws {
        let body = "{\"filler\":\"" + String(repeating: "x", count: 64 * 1024) + "\"}"
        try await SignInHost.serving { host in
            let path = "/identitytoolkit.googleapis.com/v1/accounts:signUp"
            expect(try await host.send(path, json: "{}"), "The request is missing a valid API key.", status: 403)
            expectInvalidJSON(try await host.account("signUp", "[]"))
            expectInvalidJSON(try await host.account("signUp", "{"))
            expect(try await host.account("signUp", body), "Request body is larger than 64 KiB.", status: 413)
            expect(try await host.account("fly", "{}"), "Not Found", status: 404)
            expect(try await host.send("/nowhere", method: .get), "Not Found", status: 404)
        }
    }

    @Test func browsersMayCall() async throws {
        try await SignInHost.serving { host in
            let answer = try await host.send(
                "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=fake", method: .options,
                headers: [
                    .origin: "http://localhost:3000", .accessControlRequestMethod: "POST",
                    .accessControlRequestHeaders: "content-type,x-client-version,x-firebase-client",
                ])
            #expect(answer.status == 204)
            #expect(answer.headers[.accessControlAllowOrigin] == "http://localhost:3000")
            #expect(
                answer.headers[.accessControlAllowHeaders] == "content-type,x-client-version,x-firebase-client")
            let refused = try await host.send(
                "/nowhere", headers: [.origin: "http://localhost:3000"])
            #expect(refused.headers[.accessControlAllowOrigin] == "http://localhost:3000")
        }
    }

    /// A cache would otherwise give a page the answer that a program got, which no page may read.
    @Test(arguments: [[:], [.origin: "http://localhost:3000"]] as [HTTPFields])
    func whatCachesKeepDependsOnTheOrigin(headers: HTTPFields) async throws {
        try await SignInHost.serving { host in
            let keys = try await host.send("/.well-known/jwks.json", method: .get, headers: headers)
            #expect(keys.headers[.cacheControl]?.hasPrefix("public") == true)
            #expect(keys.headers[.vary] == "Origin, Access-Control-Request-Headers")
            #expect(keys.headers[.accessControlAllowOrigin] == headers[.origin])
        }
    }

    @Test func adminOfDevelopmentLooksUpDisablesAndDeletes() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            func admin(_ operation: String, _ json: String, as caller: String = "owner") async throws -> Answer {
                try await host.send(
                    "/identitytoolkit.googleapis.com/v1/projects/shop-prod/accounts:\(operation)", json: json,
                    headers: [.authorization: "Bearer \(caller)"])
            }
            let found = try await admin("lookup", #"{"localId":["\#(user.uid)","missing"]}"#)
            guard case .array(let users)? = found.body["users"]?.kind else {
                Issue.record("no users")
                return
            }
            #expect(users.count == 1)
            #expect(try await admin("lookup", #"{"localId":["missing"]}"#).body["users"] == nil)
            // What kreait/firebase-php sends to an emulator.
            #expect(try await admin("lookup", #"{"localId":["missing"]}"#, as: "ya29.c.opaque").status == 200)
            #expect(try await admin("update", #"{"localId":"\#(user.uid)","disableUser":true}"#).status == 200)
            expect(try await host.refresh(user.refreshToken), "USER_DISABLED")
            expect(try await host.account("lookup", #"{"idToken":"\#(user.idToken)"}"#), "USER_DISABLED")
            expect(
                try await admin("delete", #"{"localId":"\#(user.uid)"}"#, as: "me"),
                "Request had invalid authentication credentials. Expected OAuth 2 access token.", status: 401)
            #expect(try await admin("delete", #"{"localId":"\#(user.uid)"}"#).status == 200)
            expect(try await admin("delete", #"{"localId":"\#(user.uid)"}"#), "USER_NOT_FOUND")
        }
    }

    /// As `linkWithCredential` does with an email address and a password.
    @Test(arguments: [false, true]) func aPasswordIsLinkedToTheAddressOfAProvider(hidesAccounts: Bool) async throws {
        var configuration = SignInConfiguration()
        configuration.hidesAccounts = hidesAccounts
        try await SignInHost.serving(configuration: configuration) { host in
            let claims = #"{"sub":"ada","email":"ada@example.com","email_verified":true}"#
            let form = "providerId=google.com&id_token=" + PercentEncoding.encoded(claims)
            let user = try await host.account(
                "signInWithIdp", #"{"requestUri":"http://localhost","postBody":"\#(form)"}"#)
            let uid = try #require(user.body["localId"]?.text)
            func link(_ idToken: String?, _ email: String) async throws -> Answer {
                let token = try #require(idToken)
                return try await host.account(
                    "signUp", #"{"idToken":"\#(token)","email":"\#(email)","password":"right-one"}"#)
            }
            _ = try await host.signUp("eve@example.com", "right-one")
            #expect(try await link(user.body["idToken"]?.text, "eve@example.com").body.errorMessage == "EMAIL_EXISTS")
            let linked = try await link(user.body["idToken"]?.text, "Ada@example.com")
            #expect(linked.status == 200)
            #expect(linked.body["localId"]?.text == uid)
            let known = try #require(try await host.users.read { try $0.user(uid) })
            #expect(known.email == "ada@example.com" && known.isEmailVerified)
            #expect(known.identities.map(\.provider) == ["google.com"])
            #expect(try await host.signIn("ada@example.com", "right-one").body["localId"]?.text == uid)
            // It has one by now.
            let again = try await link(linked.body["idToken"]?.text, "ada@example.com")
            #expect(again.body.errorMessage == "EMAIL_EXISTS")
        }
    }

    /// `disableUser` is what kreait/firebase-php sends.
    @Test(arguments: ["disabled", "disableUser"]) func anAdminCreatesADisabledUser(field: String) async throws {
        try await SignInHost.serving { host in
            let created = try await host.admin("signUp", #"{"localId":"ada","\#(field)":true}"#)
            #expect(created.status == 200)
            let user = try await host.users.read { try $0.user("ada") }
            #expect(user?.isDisabled == true)
        }
    }

    /// The Admin SDK needs no ids for second factors that it adds.
    @Test func anAdminAddsASecondFactorWithoutAnID() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let factors = #"[{"mfaEnrollmentId":"own","phoneInfo":"+441234567"},{"phoneInfo":"+4915112345678"}]"#
            let changed = try await host.admin(
                "update", #"{"localId":"\#(user.uid)","mfa":{"enrollments":\#(factors)}}"#)
            #expect(changed.status == 200)
            let known = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(known.secondFactors.map(\.phoneNumber) == ["+441234567", "+4915112345678"])
            #expect(known.secondFactors.first?.id == "own")
            #expect(known.secondFactors.last?.id.utf8.count == 28)
        }
    }

    /// The SDK of iOS takes a time without for the present one, each time.
    @Test(arguments: [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"), ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
    ]) func theTimeOfASecondFactorHasMilliseconds(given: String, expected: String) async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let factors = #"[{"phoneInfo":"+4915112345678","enrolledAt":"\#(given)"}]"#
            let changed = try await host.admin(
                "update", #"{"localId":"\#(user.uid)","mfa":{"enrollments":\#(factors)}}"#)
            #expect(changed.status == 200)
            let signedIn = try await host.signIn("ada@example.com", "right-one")
            let hints = try signedIn.body["mfaInfo"]?.elements() ?? []
            #expect(hints.map { $0["enrolledAt"]?.text } == [expected])
        }
    }

    /// iOS sends the older path.
    @Test(arguments: [
        "/www.googleapis.com/identitytoolkit/v3/relyingparty/signInWithGameCenter?key=fake",
        "/identitytoolkit.googleapis.com/v1/accounts:signInWithGameCenter?key=fake",
    ]) func gameCenterIsRefusedWithASentence(path: String) async throws {
        try await SignInHost.serving { host in
            let answer = try await host.send(path, json: #"{"playerId":"p","signature":"s","salt":"s"}"#)
            expect(answer, "OPERATION_NOT_ALLOWED : This host can't sign in with Game Center.")
        }
    }

    @Test func helperDeletesAllUsersOfItsProject() async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp()
            expect(
                try await host.send("/emulator/v1/projects/other/accounts", method: .delete),
                "PROJECT_NUMBER_MISMATCH : This host serves the project \(Self.project).")
            #expect(try await host.send("/emulator/v1/projects/shop-prod/accounts", method: .delete).status == 200)
            expect(try await host.refresh(user.refreshToken), "USER_NOT_FOUND")
        }
    }

    @Test func productionHasNeitherItsAdminNorHelpers() async throws {
        let owner: HTTPFields = [.authorization: "Bearer owner"]
        try await SignInHost.serving(policy: .production) { host in
            let user = try await host.signUp()
            let json = #"{"localId":"\#(user.uid)"}"#
            let path = "/identitytoolkit.googleapis.com/v1/projects/shop-prod/accounts:delete"
            for headers in [owner, [.authorization: "Bearer ya29.c.opaque"]] as [HTTPFields] {
                expect(
                    try await host.send(path, json: json, headers: headers),
                    "Request had invalid authentication credentials. Expected OAuth 2 access token.", status: 401)
            }
            for (helper, method) in [
                ("accounts", HTTPRequest.Method.delete), ("oobCodes", .get), ("verificationCodes", .get),
            ] {
                let answer = try await host.send(
                    "/emulator/v1/projects/shop-prod/\(helper)", method: method, headers: owner)
                expect(answer, "Not Found", status: 404)
            }
            #expect(try await host.refresh(user.refreshToken).status == 200)
            #expect(try await host.send(path, json: json, headers: [.authorization: "Bearer server"]).status == 200)
        }
    }

    /// As a damaged file may have it.
    @Test(arguments: [
        (Int64.min, "0001-01-01T00:00:00Z"), (Int64.max, "9999-12-31T23:59:59Z"),
        (Int64.max / 1000 + 1, "9999-12-31T23:59:59Z"),
        (Int64(-1), "1969-12-31T23:59:59.999Z"),
    ]) func aTimeThatNoClockShowsIsTheNearest(milliseconds: Int64, expected: String) {
        var user = UserRecord(uid: "ada", createdAt: milliseconds)
        user.lastRefreshAt = milliseconds
        #expect(user.json(isWhole: false)["lastRefreshAt"] == .string(expected))
    }
}
