import Foundation
import TestSupport
import Testing

/// Functions that refuse and change who signs up and in.
@Suite(.endsHangs) struct BlockingFunctionTests {
    private static func account(_ host: RunningHost, _ operation: String, _ json: String) async throws -> HTTPAnswer {
        try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=local",
            headers: ["Content-Type": "application/json"], json)
    }

    private static func signUp(_ host: RunningHost, _ email: String) async throws -> HTTPAnswer {
        try await account(host, "signUp", #"{"email":"\#(email)","password":"secret1","returnSecureToken":true}"#)
    }

    /// Lets processes start, which counts towards the 7 s that a blocking function may take.
    private static func warm(_ host: RunningHost) async throws {
        try await Bound.wait("both functions answer") {
            try await signUp(host, "\(UUID().uuidString)@example.com").status == 200
        }
    }

    private static func exists(_ host: RunningHost, _ email: String) async throws -> Bool {
        let answer = try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/demo-shop/accounts:lookup",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer owner"],
            #"{"email":["\#(email)"]}"#)
        return answer.json["users"] != nil
    }

    private static func claims(_ token: String?) throws -> JSON {
        let part = try #require(token?.split(separator: ".").dropFirst().first)
        let text = part.replacing("-", with: "+").replacing("_", with: "/")
        let data = try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
        return try JSON(parsing: String(decoding: data, as: UTF8.self))
    }

    @Test func aRefusalReachesTheClientAndLeavesNothing() async throws {
        try await RunningHost.serving { host in
            try await Self.warm(host)
            let answer = try await Self.signUp(host, "eve@refused.example")
            #expect(answer.status == 400)
            let message = try #require(answer.json["error"]?["message"]?.text)
            #expect(
                message.hasPrefix(
                    "BLOCKING_FUNCTION_ERROR_RESPONSE : ((HTTP request to checkUser returned HTTP error 403: "))
            let inner = try JSON(parsing: String(message[message.firstIndex(of: "{")!...message.lastIndex(of: "}")!]))
            #expect(inner["error"]?["message"]?.text == "not today")
            #expect(inner["error"]?["status"]?.text == "PERMISSION_DENIED")
            #expect(inner["error"]?["details"]?["why"]?.text == "password")
            #expect(try await !Self.exists(host, "eve@refused.example"))
            for email in ["eve@failing.example", "eve@trapping.example", "eve@slow.example", "eve@forbidden.example"] {
                let refused = try await Self.signUp(host, email)
                #expect(refused.status == 400, "\(refused.text)")
                #expect(try await !Self.exists(host, email))
            }
            try await Self.warm(host)
            #expect(try await Self.signUp(host, "ada@example.com").status == 200)
        }
    }

    @Test func whatFunctionsChangeIsInTheUserAndItsTokens() async throws {
        try await RunningHost.serving { host in
            try await Self.warm(host)
            let answer = try await Self.signUp(host, "ada@changed.example")
            let claims = try Self.claims(answer.json["idToken"]?.text)
            #expect(claims["name"]?.text == "By Function")
            #expect(claims["vip"] == .bool(true))
            #expect(claims["once"]?.integer == 1)
            #expect(claims["from"]?.text == "127.0.0.1")
            let token = try #require(answer.json["refreshToken"]?.text)
            let refreshed = try await host.auth.send(
                "POST", "/securetoken.googleapis.com/v1/token?key=local",
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                "grant_type=refresh_token&refresh_token=\(token)")
            #expect(try Self.claims(refreshed.json["id_token"]?.text)["once"]?.integer == 1)
            let disabled = try await Self.signUp(host, "ada@disabled.example")
            #expect(disabled.json["error"]?["message"]?.text == "USER_DISABLED")
            #expect(try await Self.exists(host, "ada@disabled.example"))
        }
    }

    @Test func aSignInCanBeRefusedAfterTheSignUp() async throws {
        try await RunningHost.serving { host in
            try await Self.warm(host)
            let answer = try await Self.signUp(host, "ada@locked.example")
            #expect(answer.json["error"]?["message"]?.text?.contains("returned HTTP error 429") == true)
            #expect(try await !Self.exists(host, "ada@locked.example"))
            let provider = try await Self.account(
                host, "signInWithIdp",
                #"{"requestUri":"http://localhost","postBody":"providerId=google.com&id_token={\"sub\":\"1\",\"email\":\"x@refused.example\",\"email_verified\":true}"}"#
            )
            #expect(provider.status == 400)
            #expect(try await !Self.exists(host, "x@refused.example"))
            // Anonymous users and admins pass by.
            _ = try await SignedInUser.create(host)
        }
    }

    @Test func aMailCanBeRefused() async throws {
        try await RunningHost.serving { host in
            func ask(_ email: String) async throws -> HTTPAnswer {
                try await Self.account(host, "sendOobCode", #"{"requestType":"EMAIL_SIGNIN","email":"\#(email)"}"#)
            }
            #expect(try await ask("ada@example.com").status == 200)
            let refused = try await ask("ada@nomail.example")
            #expect(refused.status == 400)
            #expect(refused.json["error"]?["message"]?.text?.contains("EMAIL_SIGN_IN") == true)
        }
    }

    @Test func theyHaveNoAddressOfTheirOwn() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("checkUser", "null").status == 404)
            let list = try await host.command(["list"])
            #expect(list.output.contains("beforeCreate"))
        }
    }
}
