import Foundation
import TestSupport
import Testing

/// The tokens that a standalone bundle accepts.
@Suite(.endsHangs) struct AloneTokenTests {
    private let unsigned = ["Authorization": "Bearer " + IdentityTests.unsigned("ada")]

    @Test func anEmulatorsTokensCountWhereOneIsNamed() async throws {
        try await RunningBundle.serving(RunningBundle.development) { bundle in
            #expect(try await bundle.call("whoami", "null", headers: unsigned).json["result"]?.text == "ada")
            let other = IdentityTests.unsigned("ada", project: "demo-other")
            for token in ["garbage", other, ""] {
                let answer = try await bundle.call("whoami", "null", headers: ["Authorization": "Bearer \(token)"])
                #expect(answer.status == 401)
                #expect(answer.text == CallableProtocolTests.unauthenticated)
            }
            let environment = try await bundle.call("environment", #"["FUNCTIONS_EMULATOR"]"#)
            #expect(environment.text == #"{"result":["true"]}"#)
        }
    }

    @Test func withoutAnEmulatorOnlySignedTokensCount() async throws {
        try await RunningBundle.serving { bundle in
            let refused = try await bundle.call("whoami", "null", headers: unsigned)
            #expect(refused.status == 401)
            let nobody = try await bundle.call("whoami", "null")
            #expect(nobody.json["result"] == .null)
        }
    }

    @Test func tokensOfAHostThatIsTheEmulatorCount() async throws {
        try await RunningHost.serving([]) { host in
            let user = try await SignedInUser.create(host)
            let emulator = ["FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:\(host.auth.port)"]
            try await RunningBundle.serving(RunningBundle.project.merging(emulator) { $1 }, isSecond: true) { bundle in
                let answer = try await bundle.call("whoami", "null", headers: user.headers)
                #expect(answer.json["result"]?.text == user.uid)
            }
        }
    }

    @Test func aPlatformIsNoMachineForDevelopment() async throws {
        let (errors, status) = try await RunningBundle.refusal(
            RunningBundle.development.merging(["K_SERVICE": "s"]) { $1 })
        #expect(status == 78)
        #expect(errors.contains("FIREBASE_AUTH_EMULATOR_HOST"))
        #expect(errors.contains("K_SERVICE"))
    }

    /// The platform's proxy says where a request comes from; others may say anything.
    @Test(arguments: [true, false])
    func theAddressBeforeThePlatformsProxiesCounts(isOnPlatform: Bool) async throws {
        let environment = isOnPlatform ? RunningBundle.platform : RunningBundle.project
        try await RunningBundle.serving(environment) { bundle in
            func status(_ way: String) async throws -> Int {
                try await bundle.functions.send("GET", "/oncePerAddress", headers: ["X-Forwarded-For": way]).status
            }
            let first = try await status("203.0.113.1, 10.1.2.3")
            let other = try await status("203.0.113.2")
            let forged = try await status("198.51.100.9, 203.0.113.2, 169.254.1.1")
            #expect(first == 200)
            #expect(other == (isOnPlatform ? 200 : 429))
            #expect(forged == 429)
            // A client within the network is one, whatever it writes before its own address.
            #expect(try await status("198.51.100.9, 10.1.2.3") == 429)
        }
    }
}
