import Foundation
import TestSupport
import Testing

/// App Check: apps get tokens from the host, and services demand them.
@Suite(.endsHangs) struct AppCheckTests {
    private static let app = "1:123456:web:abc"
    private static let header = "X-Firebase-AppCheck"

    private static func directory(_ enforce: String) throws -> HostDirectory {
        let directory = try HostDirectory()
        try directory.configure(
            [.fixture],
            extra: """
                "auth": { "projectNumber": "123456" },
                "appCheck": { "apps": { "\(app)": { "debugTokens": ["WEB_DEBUG_TOKEN"] } }, "enforce": { \(enforce) } }
                """)
        try directory.writeSecrets("WEB_DEBUG_TOKEN=0c6f9dd3-8f41-4f5e-9d5b-debug\n")
        return directory
    }

    /// What a custom provider of a client does.
    private static func token(_ host: RunningHost) async throws -> String {
        let answer = try await host.auth.send(
            "POST", "/v1/projects/demo-shop/apps/\(app):exchangeDebugToken?key=local",
            headers: ["Content-Type": "application/json"], #"{"debugToken":"0c6f9dd3-8f41-4f5e-9d5b-debug"}"#)
        #expect(answer.json["ttl"]?.text == "3600s", "\(answer.text)")
        return try #require(answer.json["token"]?.text)
    }

    private static func document(_ host: RunningHost, _ headers: [String: String]) async throws -> Int {
        try await host.firestore.send(
            "GET", "/v1/projects/demo-shop/databases/(default)/documents/a/b", headers: headers
        ).status
    }

    private static func signUp(_ host: RunningHost, _ headers: [String: String]) async throws -> HTTPAnswer {
        try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=local",
            headers: headers.merging(["Content-Type": "application/json"]) { $1 }, "{}")
    }

    @Test func eachServiceDemandsTokensIfItShould() async throws {
        let directory = try Self.directory(
            #""functions": "enforced", "firestore": "enforced", "auth": "enforced""#)
        try await RunningHost.serving(in: directory) { host in
            let app = [Self.header: try await Self.token(host)]
            let wrong = [Self.header: "nonsense"]

            #expect(try await host.call("whoami", "null").status == 401)
            #expect(try await host.call("whoami", "null", headers: wrong).status == 401)
            let called = try await host.call("whoami", "null", headers: app)
            #expect(called.json["result"]?["app"]?.text == Self.app, "\(called.text)")

            #expect(try await Self.document(host, [:]) == 403)
            #expect(try await Self.document(host, wrong) == 401)
            #expect(try await Self.document(host, app) == 404)
            #expect(try await Self.document(host, ["Authorization": "Bearer owner"]) == 404)

            let refused = try await Self.signUp(host, [:])
            #expect(refused.status == 401)
            #expect(refused.json["error"]?["message"]?.text == "Firebase App Check token is invalid.")
            #expect(try await Self.signUp(host, wrong).status == 401)
            let signedUp = try await Self.signUp(host, app)
            #expect(signedUp.status == 200)
            #expect(try await Self.signUp(host, ["Authorization": "Bearer owner"]).status == 200)
            let refresh = "grant_type=refresh_token&refresh_token=\(signedUp.json["refreshToken"]?.text ?? "")"
            let form = ["Content-Type": "application/x-www-form-urlencoded"]
            for (headers, status) in [([:], 401), (app, 200)] {
                let answer = try await host.auth.send(
                    "POST", "/securetoken.googleapis.com/v1/token?key=local",
                    headers: headers.merging(form) { $1 }, refresh)
                #expect(answer.status == status, "\(answer.text)")
            }
        }
    }

    @Test func otherwiseRequestsAreCountedAlone() async throws {
        let directory = try Self.directory(#""functions": "unenforced", "firestore": "unenforced""#)
        try await RunningHost.serving(in: directory) { host in
            let app = [Self.header: try await Self.token(host)]
            for headers in [[:], app, app, [Self.header: "nonsense"]] {
                #expect(try await host.call("whoami", "null", headers: headers).status == 200)
                #expect(try await Self.document(host, headers) == 404)
            }
            #expect(try await Self.signUp(host, [:]).status == 200)
            let run = try await DataCommandRun.run([], in: directory, command: "metrics")
            for service in ["functions", "firestore"] {
                for (token, count) in [("valid", 2), ("invalid", 1), ("missing", 1)] {
                    let line =
                        "functions_app_check_requests_total{service=\"\(service)\",token=\"\(token)\"} \(count)\n"
                    #expect(run.output.contains(line), "\(run.output)")
                }
            }
            #expect(!run.output.contains("service=\"auth\""))
        }
    }

    @Test func aReplayedTokenIsNoticedAfterARestart() async throws {
        let directory = try Self.directory("")
        var app: [String: String] = [:]
        try await RunningHost.serving(in: directory) { host in
            app = [Self.header: try await Self.token(host)]
            let first = try await host.call("appOnce", "null", headers: app)
            #expect(first.text == #"{"result":"first"}"#)
            let second = try await host.call("appOnce", "null", headers: app)
            #expect(second.text == #"{"result":"again"}"#)
        }
        // The host was killed. Its key of App Check tokens is the same, and so is what was consumed.
        try await RunningHost.serving(in: directory) { host in
            let third = try await host.call("appOnce", "null", headers: app)
            #expect(third.text == #"{"result":"again"}"#)
            let other = [Self.header: try await Self.token(host)]
            let fourth = try await host.call("appOnce", "null", headers: other)
            #expect(fourth.text == #"{"result":"first"}"#)
        }
    }

    @Test func aDebugTokenWithoutAValueStopsTheStart() async throws {
        let directory = try Self.directory("")
        try directory.write("OTHER=1\n", to: ".secrets")
        let process = try HostProcess(directory)
        let status = try await process.end()
        #expect(status == 1)
        #expect(process.errors.contains("the secret WEB_DEBUG_TOKEN has no value"), "\(process.errors)")
    }
}
