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

    /// What Google's sign-in asks, unsigned as an emulator's.
    @Test func aBlockingFunctionAnswersGooglesSignIn() async throws {
        func encoded(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                "=", with: "")
        }
        func ask(_ bundle: RunningBundle, _ claims: String) async throws -> HTTPAnswer {
            let token =
                encoded(#"{"alg":"none","typ":"JWT"}"#) + "." + encoded(claims) + "."
            return try await bundle.functions.send(
                "POST", "/onlyCompany", headers: ["Content-Type": "application/json"], #"{"data":{"jwt":"\#(token)"}}"#)
        }
        func claims(_ email: String, type: String = "beforeCreate", audience: String = "https://f.example/gate")
            -> String
        {
            """
            {"iss":"https://securetoken.google.com/demo-shop","aud":"\(audience)","sub":"ada","iat":1700000000,\
            "exp":4000000000,"event_id":"e1","event_type":"\(type)","ip_address":"203.0.113.1","user_agent":"x",\
            "sign_in_method":"password","user_record":{"uid":"ada","email":"\(email)","metadata":{"creation_time":1700000000000}}}
            """
        }
        try await RunningBundle.serving(RunningBundle.development) { bundle in
            let welcome = try await ask(bundle, claims("ada@example.com"))
            #expect(welcome.status == 200, "\(welcome.text)")
            let user = welcome.json["userRecord"]
            #expect(user?["displayName"]?.text == "Member")
            #expect(user?["updateMask"]?.text == "displayName,customClaims", "\(welcome.text)")
            let refused = try await ask(bundle, claims("eve@evil.example"))
            #expect(refused.status == 403)
            #expect(refused.json["error"]?["message"]?.text == "Only for members of the company.")
            #expect(try await ask(bundle, claims("ada@example.com", type: "beforeSignIn")).status == 400)
            // Clients have ID tokens, which are for the project.
            #expect(try await ask(bundle, claims("ada@example.com", audience: "demo-shop")).status == 401)
            #expect(try await bundle.functions.send("GET", "/onlyCompany").status == 400)
        }
        try await RunningBundle.serving { bundle throws in
            #expect(try await ask(bundle, claims("ada@example.com")).status == 401)
        }
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
