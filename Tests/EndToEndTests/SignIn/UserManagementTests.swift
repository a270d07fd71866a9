import Foundation
import TestSupport
import Testing

/// Functions that manage users, in workers of the real host.
@Suite(.endsHangs) struct UserManagementTests {
    private static func account(_ host: RunningHost, _ operation: String, _ json: String) async throws -> HTTPAnswer {
        try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=local",
            headers: ["Content-Type": "application/json"], json)
    }

    /// A user as an admin sees it; nil if there is none.
    private static func user(_ host: RunningHost, _ uid: String) async throws -> JSON? {
        try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/projects/demo-shop/accounts:lookup",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer owner"],
            #"{"localId":["\#(uid)"]}"#
        ).json["users"]?.list.first
    }

    private static func exists(_ host: RunningHost, _ path: String) async throws {
        try await Bound.wait("\(path) is written") { try await host.fields(path) != nil }
    }

    private static let ada = #"{"uid":"ada","email":"ada@example.com","password":"secret1","name":"Ada"}"#

    @Test func aUserIsManagedFromItsCreationToItsEnd() async throws {
        try await RunningHost.serving { host in
            let created = try await host.call("createUser", Self.ada)
            #expect(created.json["result"]?.text == "ada", "\(created.text)")
            let again = try await host.call("createUser", Self.ada)
            #expect(again.json["error"]?["message"]?.text == "auth/uid-already-exists", "\(again.text)")
            // No blocking function is asked for what an admin creates, but listeners are notified.
            try await Self.exists(host, "welcomes/ada")
            #expect(
                try await Self.account(
                    host, "signInWithPassword", #"{"email":"ada@example.com","password":"secret1"}"#
                ).status == 200)

            let answer = try await host.call("userTokens", #""ada""#)
            let result = try #require(answer.json["result"])
            #expect(result["count"]?.text == "1" && result["staff"]?.text == "true", "\(answer.text)")
            let token = try #require(result["token"]?.text)
            let signedIn = try await Self.account(
                host, "signInWithCustomToken", #"{"token":"\#(token)","returnSecureToken":true}"#)
            #expect(signedIn.status == 200, "\(signedIn.text)")
            let caller = try await host.call(
                "whoami", "null", headers: ["Authorization": "Bearer \(signedIn.json["idToken"]?.text ?? "")"])
            let claims = caller.json["result"]?["claims"]
            #expect(claims?["staff"] == .bool(true) && claims?["first_name"]?.text == "Ada", "\(caller.text)")

            // The link has the port that was taken, and its code works.
            let link = try #require(result["link"]?.text)
            #expect(link.hasPrefix("http://127.0.0.1:\(host.auth.port)/"), "\(link)")
            let code = try #require(
                URLComponents(string: link)?.queryItems?.first { $0.name == "oobCode" }?.value)
            let reset = try await Self.account(
                host, "resetPassword", #"{"oobCode":"\#(code)","newPassword":"another1"}"#)
            #expect(reset.status == 200)

            let removed = try await host.call("removeUser", #""ada""#)
            #expect(removed.status == 200, "\(removed.text)")
            #expect(try await Self.user(host, "ada") == nil)
            try await Self.exists(host, "farewells/ada")
        }
    }

    @Test func aTransactionChangesUsersAndDocumentsOrNothing() async throws {
        try await RunningHost.serving { host in
            _ = try await host.call("createUser", Self.ada)
            let failed = try await host.call(
                "moveUser", #"{"uid":"ada","team":"red","isDisturbed":false,"fails":true}"#)
            #expect(failed.json["error"]?["message"]?.text == "on purpose")
            #expect(try await host.fields("teams/red") == nil)
            #expect(try await Self.user(host, "ada")?["customAttributes"]?.text == #"{"staff":true}"#)

            // A key makes the call one purchase, whatever it changes.
            let key = ["Idempotency-Key": "move-1"]
            let move = #"{"uid":"ada","team":"red","isDisturbed":true,"fails":false}"#
            let moved = try await host.call("moveUser", move, headers: key)
            let guest = try #require(moved.json["result"]?.text, "\(moved.text)")
            let repeated = try await host.call("moveUser", move, headers: key)
            #expect(repeated.json["result"]?.text == guest)
            // The second attempt has seen what had changed, and is the only one that counts.
            let team = try await host.fields("teams/red")
            #expect(team?.value("members") == "1" && team?.value("name") == "Disturbed")
            #expect(try await Self.user(host, "ada")?["customAttributes"]?.text == #"{"team":"red"}"#)
            #expect(try await Self.user(host, guest)?["displayName"]?.text == "Guest")
            try await Self.exists(host, "welcomes/\(guest)")
        }
    }

    // MARK: In production

    private static let fixture = #"{ "name": "fixture", "executable": "\#(HostDirectory.Bundle.fixture.product)" }"#

    private static func call(_ host: ProductionHost, _ name: String, _ data: String) async throws -> HTTPAnswer {
        try await HTTPClient(port: host.functions).send(
            "POST", "/\(ProductionHost.project)/us-central1/\(name)", headers: ["Content-Type": "application/json"],
            #"{"data":\#(data)}"#)
    }

    /// There, custom tokens must be signed: by a server's key, or by the host for its functions.
    @Test func aHostThatIssuesTokensAcceptsItsFunctionsCustomTokens() async throws {
        try await ProductionHost.serving(
            bundles: Self.fixture, extra: #", "auth": { "issuer": "own", "publicAddress": "https://auth.example.com" }"#
        ) { host in
            let auth = HTTPClient(port: try #require(host.process.port("auth")))
            func signIn(_ token: String) async throws -> HTTPAnswer {
                try await auth.send(
                    "POST", "/identitytoolkit.googleapis.com/v1/accounts:signInWithCustomToken?key=k",
                    headers: ["Content-Type": "application/json"], #"{"token":"\#(token)","returnSecureToken":true}"#)
            }
            #expect(try await Self.call(host, "createUser", Self.ada).status == 200)
            let token = try #require(
                try await Self.call(host, "userTokens", #""ada""#).json["result"]?["token"]?.text)
            let signedIn = try await signIn(token)
            #expect(signedIn.status == 200, "\(signedIn.text)")
            let parts = token.split(separator: ".")
            for forged in [parts[0...1].joined(separator: ".") + ".", token.dropLast(8) + "AAAAAAAA"] {
                let refused = try await signIn(String(forged))
                #expect(refused.json["error"]?["message"]?.text?.hasPrefix("INVALID_CUSTOM_TOKEN") == true)
            }
        }
    }

    @Test func aHostWhoseUsersAreGooglesSaysSo() async throws {
        try await ProductionHost.serving(bundles: Self.fixture) { host in
            let answer = try await Self.call(host, "createUser", Self.ada)
            #expect(answer.json["error"]?["status"]?.text == "INTERNAL")
            try await Bound.wait("the reason is logged") {
                host.process.errors.contains("this host has no users of its own")
            }
        }
    }

    /// What was answered survives the host's death, users and documents alike.
    @Test func whatATransactionChangedSurvivesAKilledHost() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        try await RunningHost.serving(in: directory) { host in
            _ = try await host.call("createUser", Self.ada)
            let moved = try await host.call(
                "moveUser", #"{"uid":"ada","team":"red","isDisturbed":false,"fails":false}"#)
            #expect(moved.status == 200, "\(moved.text)")
        }
        try await RunningHost.serving(in: directory) { host in
            let (ada, team) = (try await Self.user(host, "ada"), try await host.fields("teams/red"))
            #expect(ada?["customAttributes"]?.text == #"{"team":"red"}"#)
            #expect(team?.value("members") == "1")
        }
    }
}
