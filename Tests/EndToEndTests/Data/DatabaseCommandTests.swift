import Foundation
import TestSupport
import Testing

/// `functions-host data export` and `import` of a Realtime Database, with the running host and without one.
@Suite(.endsHangs) struct DatabaseCommandTests {
    private static let owner = ["Authorization": "Bearer owner"]
    private static let name = "demo-shop-default-rtdb"
    private static let tree = #"{"a":{"x":{".value":"é",".priority":1},"y":true,".priority":"p"},"b":-0.5}"#

    private func put(_ path: String, _ json: String, at host: RunningHost) async throws {
        let answer = try await host.database.send("PUT", "/\(path).json", headers: Self.owner, json)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private func export(_ host: RunningHost, _ arguments: String...) async throws -> String {
        let run = try await DataCommandRun.run(["export", "--database", Self.name] + arguments, in: host.directory)
        #expect(run.status == 0, "\(run.errors)")
        return run.output
    }

    @Test func exportsAndImportsAreTheSameWithAndWithoutAHost() async throws {
        try await RunningHost.serving { host in
            try await put("", Self.tree, at: host)
            #expect(try await export(host) == Self.tree + "\n")
            // What the console's export of Firebase is.
            let rest = try await host.database.send("GET", "/.json?format=export", headers: Self.owner)
            #expect(rest.text == Self.tree)
            let lines = try await export(host, "--format", "jsonl").split(separator: "\n").dropFirst()
            #expect(lines.count == 5)
            let file = try await host.data("export", "--database", Self.name, "--path", "/a", "a.jsonl", "--json")
            #expect(file.json?["nodes"]?.integer == 3)
            #expect(try await host.data("import", "--database", Self.name, "--path", "c", "a.jsonl").status == 0)
            #expect(try await export(host, "--path", "c") == export(host, "--path", "a"))
            try await put("c", "null", at: host)

            try await host.kill()
            #expect(try await export(host) == Self.tree + "\n")
            #expect(try await export(host, "--format", "jsonl").split(separator: "\n").dropFirst() == lines)
            let imported = try await host.data(
                "import", "--database", Self.name, "--in-steps", "--json", input: #"{"a":{"z":1}}"#)
            #expect(imported.json?["nodes"]?.integer == 1)
            let again = try await RunningHost.start(in: host.directory)
            let merged = try await again.database.send("GET", "/.json", headers: Self.owner)
            #expect(merged.text == #"{"a":{"x":"é","y":true,"z":1},"b":-0.5}"#)
            #expect(try await again.data("import", "--database", Self.name, input: "null").status == 0)
            #expect(try await export(again) == "null\n")
            #expect(try await again.data("check").status == 0)
            try await again.kill()
        }
    }

    /// As in Firebase, imported values trigger functions; here they may also be imported without.
    @Test func importsTriggerFunctionsUnlessToldOtherwise() async throws {
        try await RunningHost.serving { host in
            func messages(_ room: String, _ count: Int) -> String {
                let members = (0..<count).map { "\"m\($0)\":\"x\"" }
                return "{\"rooms\":{\"\(room)\":{\"messages\":{\(members.joined(separator: ","))}}}}"
            }
            let silent = ["import", "--database", Self.name, "--in-steps", "--disable-triggers"]
            let run = try await DataCommandRun.run(silent, in: host.directory, input: messages("quiet", 3))
            #expect(run.status == 0, "\(run.errors)")
            #expect(
                try await host.data("import", "--database", Self.name, "--in-steps", input: messages("loud", 3)).status
                    == 0)
            try await Bound.wait("the messages are counted") {
                try await host.database.send("GET", "/counts/loud.json", headers: Self.owner).text == "3"
            }
            let quiet = try await host.database.send("GET", "/counts/quiet.json", headers: Self.owner)
            #expect(quiet.text == "null")
            // More than one change may invoke.
            let refused = try await host.data("import", "--database", Self.name, input: messages("full", 1_001))
            #expect(refused.status == 1)
            #expect(refused.errors.contains("--in-steps"), "\(refused.errors)")
        }
    }

    @Test func mistakesAreToldWithTheirPlace() async throws {
        try await RunningHost.serving { host in
            try await put("", Self.tree, at: host)
            let wrong = try await host.data("import", "--database", Self.name, input: "{\"a\":1,\n\"b/c\":2}")
            #expect(wrong.status == 1)
            #expect(wrong.errors.contains("line 2, column 1 (byte 9), at /: \"b/c\" is not a key"), "\(wrong.errors)")
            #expect(try await export(host) == Self.tree + "\n")
            let unknown = try await host.data("export", "--database", "demo-unknown", "u.json")
            #expect(unknown.status == 1 && unknown.errors.contains(Self.name), "\(unknown.errors)")
            #expect(!FileManager.default.fileExists(atPath: host.directory.path + "/u.json"))
            for arguments in [
                ["export", "--path", "a"], ["export", "--format", "json"], ["import", "--in-steps"],
                ["import", "--disable-triggers"], ["import", "--database", Self.name, "--clear"],
                ["export", "--database", Self.name, "--collection", "c"],
                ["export", "--database", Self.name, "--format", "xml"],
            ] {
                #expect(try await DataCommandRun.run(arguments, in: host.directory).status == 64, "\(arguments)")
            }
            let path = try await host.data("export", "--database", Self.name, "--path", "a.b")
            #expect(path.status == 1 && path.errors.contains("is not a path"), "\(path.errors)")
        }
    }
}
