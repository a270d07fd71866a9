import TestSupport
import Testing

/// The Realtime Database of a standalone bundle.
@Suite(.endsHangs) struct AloneDatabaseTests {
    @Test func itIsThatOfTheServiceThatTheEnvironmentNames() async throws {
        try await RunningHost.serving([]) { host in
            let emulators = [
                "FIREBASE_DATABASE_EMULATOR_HOST": "127.0.0.1:\(host.database.port)",
                "FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(host.firestore.port)",
            ]
            try await RunningBundle.serving(RunningBundle.project.merging(emulators) { $1 }, isSecond: true) { bundle in
                #expect(try await bundle.call("like", #""a""#).text == #"{"result":1}"#)
                #expect(try await bundle.call("like", #""a""#).text == #"{"result":2}"#)
                let seen = try await host.database.send("GET", "/likes.json?ns=demo-shop-default-rtdb")
                #expect(seen.text == #"{"a":2}"#)
                // REST has no transactions with documents.
                let refused = try await bundle.call("likeInTransaction", #""a""#)
                #expect(refused.json["error"]?["status"]?.text == "FAILED_PRECONDITION", "\(refused.text)")
                #expect(refused.json["error"]?["message"]?.text?.contains("transaction") == true, "\(refused.text)")
                #expect(try await host.database.send("GET", "/likes/a.json?ns=demo-shop-default-rtdb").text == "2")
            }
        }
    }

    @Test func withoutAnAddressItsUseFails() async throws {
        try await RunningBundle.serving { bundle in
            let refused = try await bundle.call("like", #""a""#)
            #expect(refused.status == 500, "\(refused.text)")
        }
    }
}
