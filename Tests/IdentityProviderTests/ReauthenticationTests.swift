import HTTPTypes
import StrictJSON
import Testing
import TextFormats
import TokenVerification
import UserStore

@testable import IdentityProvider

/// What SDKs ask for when a signed-in user is to prove again who they are.
@Suite struct ReauthenticationTests {
    private func enter(_ host: SignInHost, _ sub: String, creates: Bool) async throws -> SignInHost.Answer {
        let form = "providerId=google.com&id_token=" + PercentEncoding.encoded(#"{"sub":"\#(sub)"}"#)
        return try await host.account(
            "signInWithIdp", #"{"requestUri":"http://localhost","postBody":"\#(form)","autoCreate":\#(creates)}"#)
    }

    @Test func anotherAccountAtTheProviderCreatesNoUser() async throws {
        try await SignInHost.serving { host in
            let user = try await enter(host, "own", creates: true)
            #expect(user.body["isNewUser"] != nil)
            let other = try await enter(host, "other", creates: false)
            // The web SDK takes USER_NOT_FOUND for the end of the session.
            #expect(other.body.errorMessage?.hasPrefix("EMAIL_NOT_FOUND : ") == true)
            #expect(try await host.users.read { try $0.userCount() } == 1)
            let own = try await enter(host, "own", creates: false)
            #expect(own.body["localId"]?.text == user.body["localId"]?.text)
            #expect(own.body["idToken"] != nil)
        }
    }

    @Test(arguments: [#""REAUTH""#, "2"]) func anotherPhoneNumberCreatesNoUser(operation: String) async throws {
        try await SignInHost.serving { host in
            func enter(_ number: String, _ operation: String) async throws -> SignInHost.Answer {
                let sent = try await host.account("sendVerificationCode", #"{"phoneNumber":"\#(number)"}"#)
                let session = try #require(sent.body["sessionInfo"]?.text)
                let listed = try await host.send(
                    "/emulator/v1/projects/\(SignInHost.project)/verificationCodes", method: .get)
                let found = try listed.body["verificationCodes"]?.elements().first {
                    $0["sessionInfo"]?.text == session
                }
                let code = try #require(found?["code"]?.text)
                return try await host.account(
                    "signInWithPhoneNumber",
                    #"{"sessionInfo":"\#(session)","code":"\#(code)","operation":\#(operation)}"#)
            }
            let user = try await enter("+4915112345678", #""SIGN_UP_OR_IN""#)
            #expect(user.status == 200)
            #expect(try await enter("+4915100000000", operation).body.errorMessage == "USER_NOT_FOUND")
            #expect(try await host.users.read { try $0.userCount() } == 1)
            let own = try await enter("+4915112345678", operation)
            #expect(own.body["localId"]?.text == user.body["localId"]?.text)
        }
    }
}
