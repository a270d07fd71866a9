import Foundation
import TestSupport
import Testing

/// The Realtime Database's rules of a running host: from its file, by the commands, and after a change.
@Suite(.endsHangs) struct DatabaseRulesTests {
    private static let rules = """
        {
          // Everyone has a place of their own.
          "rules": {
            "users": {
              "$uid": { ".read": "$uid === auth.uid", ".write": "$uid === auth.uid && newData.val() != data.val()" }
            }
          }
        }
        """

    private static func serving(_ rules: String, _ body: (RunningHost) async throws -> Void) async throws {
        let directory = try HostDirectory()
        try directory.write(rules, to: "database.rules.json")
        try directory.configure([.fixture], extra: #""databaseRules": "database.rules.json""#)
        try await RunningHost.serving(in: directory, body)
    }

    private static func run(_ arguments: [String]) throws -> (code: Int32, text: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
        process.arguments = ["rules"] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.start()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test func theCommandsExplainAndCount() async throws {
        try await Self.serving(Self.rules) { host in
            let place = "?ns=demo-shop-default-rtdb"
            let written = try await host.database.send(
                "PUT", "/users/ada.json\(place)", headers: ["Authorization": "Bearer owner"], "1")
            #expect(written.status == 200)
            let refused = try await host.database.send("GET", "/users/ada.json\(place)")
            #expect(refused.status == 401 && refused.json["error"]?.text == "Permission denied", "\(refused.text)")
            func run(_ arguments: String...) throws -> (code: Int32, text: String) {
                try Self.run(
                    arguments + ["--database", "demo-shop-default-rtdb", "--config", host.directory.configuration])
            }
            let own = try run("explain", "read", "users/ada", "--as", "ada")
            #expect(own.code == 0)
            #expect(own.text.hasPrefix("allowed by 5:17\n"), "\(own.text)")
            let same = try run("explain", "write", "users/ada", "--as", "ada", "--written", "1")
            #expect(same.code == 1, "\(same.text)")
            #expect(same.text.contains("newData.val() != data.val() = false"), "\(same.text)")
            #expect(try run("explain", "write", "users/ada", "--as", "ada", "--written", "2").code == 0)
            #expect(try run("explain", "delete", "users/ada", "--as", "ken").code == 1)
            // Nothing was written, and explanations aren't decisions.
            let left = try await host.database.send(
                "GET", "/users/ada.json\(place)", headers: ["Authorization": "Bearer owner"])
            #expect(left.text == "1")
            let coverage = try run("coverage")
            #expect(coverage.text.contains("5:17  allowed 0, refused 1  never allowed anything"), "\(coverage.text)")
        }
    }

    @Test func aChangedFileIsTakenOverAndOneWithErrorsIsNot() async throws {
        try await Self.serving(Self.rules) { host in
            func read() async throws -> Int {
                try await host.database.send("GET", "/users/ada.json?ns=demo-shop-default-rtdb").status
            }
            #expect(try await read() == 401)
            try host.directory.write(#"{"rules": {".read": "auth.uid = 1"}}"#, to: "database.rules.json")
            try await Bound.wait("the errors are logged") {
                host.process.errors.contains("the rules have errors; those before are used")
            }
            #expect(host.process.errors.contains("database.rules.json:1:"), "\(host.process.errors)")
            #expect(try await read() == 401)
            try host.directory.write(#"{"rules": {".read": true}}"#, to: "database.rules.json")
            try await Bound.wait("the new rules decide") { try await read() == 200 }
        }
    }

    @Test func theCommandChecksBothFiles() async throws {
        let directory = try HostDirectory()
        try directory.write(Self.rules, to: "database.rules.json")
        try directory.write(
            """
            rules_version = '2';
            service cloud.firestore { match /databases/{database}/documents { match /a/{b} { allow read; } } }
            """, to: "own.rules")
        try directory.configure(
            [.fixture], extra: #""rules": "own.rules", "databaseRules": "database.rules.json""#)
        let both = try Self.run(["check", "--config", directory.configuration])
        #expect(both.code == 0)
        #expect(both.text.contains("own.rules: the rules can be used"))
        #expect(both.text.contains("database.rules.json: the rules can be used"))
        try directory.write(#"{"rules": {".read": true, "a": {".read": false}}}"#, to: "database.rules.json")
        let doubtful = try Self.run(["check", directory.path + "/database.rules.json"])
        #expect(doubtful.code == 0)
        #expect(doubtful.text.contains("warning"), "\(doubtful.text)")
        try directory.write(#"{"rules": {".read": "nonsense"}}"#, to: "database.rules.json")
        let wrong = try Self.run(["check", directory.path + "/database.rules.json"])
        #expect(wrong.code == 1)
        #expect(wrong.text.contains(":1:22: error: Unknown variable 'nonsense'."), "\(wrong.text)")
    }
}
