import Foundation
import TestSupport
import Testing

/// Functions are notified of users who are created and deleted.
@Suite(.endsHangs) struct UserEventTests {
    private static func account(
        _ host: RunningHost, _ operation: String, _ json: String, isAdmin: Bool = false
    ) async throws -> HTTPAnswer {
        let path = isAdmin ? "projects/demo-shop/accounts\(operation)" : "accounts\(operation)?key=local"
        return try await host.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/\(path)",
            headers: ["Content-Type": "application/json"].merging(isAdmin ? ["Authorization": "Bearer owner"] : [:]) {
                $1
            },
            json)
    }

    private static func wait(_ host: RunningHost, for path: String) async throws -> JSON {
        var fields: JSON?
        try await Bound.wait("\(path) is written") {
            fields = try await host.fields(path)
            return fields != nil
        }
        return try #require(fields)
    }

    @Test func aUserWhoSignsUpAndLeavesIsReportedOnce() async throws {
        try await RunningHost.serving { host in
            var answer: HTTPAnswer?
            // A function that is asked first may start for longer than it may take.
            try await Bound.wait("she signs up") {
                answer = try await Self.account(
                    host, ":signUp", #"{"email":"ada@example.com","password":"secret1","displayName":"Ada"}"#)
                return answer?.status == 200
            }
            let json = try #require(answer).json
            let uid = try #require(json["localId"]?.text)
            let welcome = try await Self.wait(host, for: "welcomes/\(uid)")
            #expect(welcome.value("n") == "1")
            #expect(welcome.value("email") == "ada@example.com")
            #expect(welcome.value("source") == "//firebaseauth.googleapis.com/projects/demo-shop")
            #expect(welcome.value("authType") == "api_key")
            let token = try #require(json["idToken"]?.text)
            let deleted = try await Self.account(host, ":delete", #"{"idToken":"\#(token)"}"#)
            #expect(deleted.status == 200)
            let farewell = try await Self.wait(host, for: "farewells/\(uid)")
            #expect(farewell.value("n") == "1")
            #expect(farewell.value("name") == "Ada")
        }
    }

    @Test func importedUsersCauseNoEvents() async throws {
        try await RunningHost.serving { host in
            let imported = try await Self.account(
                host, ":batchCreate", #"{"users":[{"localId":"moved"}]}"#, isAdmin: true)
            #expect(imported.status == 200)
            let created = try await Self.account(host, "", #"{"localId":"made"}"#, isAdmin: true)
            #expect(created.status == 200)
            #expect(try await Self.wait(host, for: "welcomes/made").value("authType") == "service_account")
            #expect(try await host.fields("welcomes/moved") == nil)
        }
    }
}
