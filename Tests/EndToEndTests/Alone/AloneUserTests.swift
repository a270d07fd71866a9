import Foundation
import TestSupport
import Testing

/// The users of a standalone bundle.
@Suite(.endsHangs) struct AloneUserTests {
    @Test func usersAreThoseOfTheServiceThatTheEnvironmentNames() async throws {
        try await RunningHost.serving([]) { host in
            let emulators = [
                "FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:\(host.auth.port)",
                "FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(host.firestore.port)",
            ]
            try await RunningBundle.serving(RunningBundle.project.merging(emulators) { $1 }, isSecond: true) { bundle in
                let adopted = try await bundle.call("adopt", #""ada""#)
                let token = try #require(adopted.json["result"]?.text, "\(adopted.text)")
                let signedIn = try await host.auth.send(
                    "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithCustomToken?key=local",
                    headers: ["Content-Type": "application/json"], #"{"token":"\#(token)","returnSecureToken":true}"#)
                #expect(signedIn.status == 200, "\(signedIn.text)")
                let found = try await host.auth.send(
                    "POST", "/identitytoolkit.googleapis.com/v1/projects/demo-shop/accounts:lookup",
                    headers: ["Content-Type": "application/json", "Authorization": "Bearer owner"],
                    #"{"localId":["ada"]}"#)
                let user = found.json["users"]?.list.first
                #expect(user?["displayName"]?.text == "Ada")
                #expect(user?["customAttributes"]?.text == #"{"staff":true}"#)
                // Firebase Authentication has no transactions, so neither have its users.
                let refused = try await bundle.call("adoptInTransaction", #""bob""#)
                #expect(refused.json["error"]?["status"]?.text == "FAILED_PRECONDITION")
                #expect(refused.json["error"]?["message"]?.text?.contains("transaction") == true, "\(refused.text)")
            }
        }
    }
}
