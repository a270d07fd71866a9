import HTTPTypes
import StrictJSON
import Testing
import TextFormats
import TokenVerification
import UserStore

@testable import IdentityProvider

/// What SDKs ask for when a signed-in user gets another way to sign in.
@Suite struct LinkingTests {
    private func google(_ host: SignInHost, idToken: String?) async throws -> SignInHost.Answer {
        let claims = #"{"sub":"ada","email":"ada@example.com","email_verified":true}"#
        let form = "providerId=google.com&id_token=" + PercentEncoding.encoded(claims)
        let token = idToken.map { #","idToken":"\#($0)""# } ?? ""
        return try await host.account(
            "signInWithIdp", #"{"requestUri":"http://localhost","postBody":"\#(form)"\#(token)}"#)
    }

    private func emailLink(_ host: SignInHost, idToken: String) async throws -> SignInHost.Answer {
        let asked = try await host.account(
            "sendOobCode",
            #"{"requestType":"EMAIL_SIGNIN","email":"ada@example.com","continueUrl":"http://localhost/in"}"#)
        #expect(asked.status == 200)
        let listed = try await host.send("/emulator/v1/projects/\(SignInHost.project)/oobCodes", method: .get)
        let codes = try listed.body["oobCodes"]?.elements() ?? []
        let sent = codes.last { $0["requestType"]?.text == "EMAIL_SIGNIN" }
        let code = try #require(sent?["oobCode"]?.text)
        return try await host.account(
            "signInWithEmailLink", #"{"email":"ada@example.com","oobCode":"\#(code)","idToken":"\#(idToken)"}"#)
    }

    /// Signs in with the password, and the code for the phone.
    private func prove(_ host: SignInHost) async throws -> String {
        let first = try await host.signIn("ada@example.com", "right-one")
        let pending = try #require(first.body["mfaPendingCredential"]?.text)
        func factor(_ operation: String, _ fields: String) async throws -> SignInHost.Answer {
            try await host.send(
                "/identitytoolkit.googleapis.com/v2/accounts/mfaSignIn:\(operation)?key=k",
                json: #"{"mfaPendingCredential":"\#(pending)",\#(fields)}"#)
        }
        let started = try await factor("start", #""mfaEnrollmentId":"f","phoneSignInInfo":{}"#)
        let session = try #require(started.body["phoneResponseInfo"]?["sessionInfo"]?.text)
        let listed = try await host.send(
            "/emulator/v1/projects/\(SignInHost.project)/verificationCodes", method: .get)
        let sent = try listed.body["verificationCodes"]?.elements().first { $0["sessionInfo"]?.text == session }
        let code = try #require(sent?["code"]?.text)
        let proved = try await factor(
            "finalize", #""phoneVerificationInfo":{"sessionInfo":"\#(session)","code":"\#(code)"}"#)
        return try #require(proved.body["idToken"]?.text)
    }

    /// SDKs can't ask for the second factor then: the account was linked, and the app got an error for which there is
    /// nothing to do.
    @Test(arguments: [true, false]) func aUserWithASecondFactorStaysSignedIn(hasProvedIt: Bool) async throws {
        try await SignInHost.serving { host in
            let user = try await host.signUp("ada@example.com", "right-one")
            let factors = #"{"enrollments":[{"mfaEnrollmentId":"f","phoneInfo":"+4915112345678"}]}"#
            let changed = try await host.admin(
                "update", #"{"localId":"\#(user.uid)","emailVerified":true,"mfa":\#(factors)}"#)
            #expect(changed.status == 200)
            var token = user.idToken
            if hasProvedIt { token = try await prove(host) }
            let linked = try await google(host, idToken: token)
            token = try #require(linked.body["idToken"]?.text)
            #expect(linked.body["localId"]?.text == user.uid)
            #expect(linked.body["refreshToken"] != nil && linked.body["mfaPendingCredential"] == nil)
            let byLink = try await emailLink(host, idToken: token)
            token = try #require(byLink.body["idToken"]?.text)
            let known = try #require(try await host.users.read { try $0.user(user.uid) })
            #expect(known.identities.map(\.provider) == ["google.com"])
            #expect(known.usesEmailLink)
            let factor = try host.toolkit.caller(token).secondFactor(of: known)
            #expect(factor?.id == (hasProvedIt ? "f" : nil))
            // Who signs in is asked for it.
            let entered = try await google(host, idToken: nil)
            #expect(entered.body["mfaPendingCredential"] != nil && entered.body["idToken"] == nil)
        }
    }
}
