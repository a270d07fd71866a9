import Foundation
import TestSupport
import Testing

/// `serve --import FILE`.
@Suite(.endsHangs) struct StartImportTests {
    private static let header =
        #"{"format":"functions-host documents","version":1,"project":"demo-old","readTime":"2026-01-01T00:00:00Z"}"#

    /// An export of so many documents, more than one commit of an import holds.
    private static func export(_ count: Int = 1200, end: String? = nil) -> String {
        let reference = "projects/demo-old/databases/(default)/documents/seeds/d0"
        let lines = (0..<count).map { number in
            #"{"path":"seeds/d\#(number)","fields":{"n":{"integerValue":"\#(number)"},"#
                + #""r":{"referenceValue":"\#(reference)"}}}"#
        }
        return ([header] + lines + [end ?? #"{"count":\#(count)}"#]).joined(separator: "\n") + "\n"
    }

    private func directory(_ export: String, _ bundles: [HostDirectory.Bundle] = []) throws -> HostDirectory {
        let directory = try HostDirectory()
        try directory.configure(bundles)
        try directory.write(export, to: "seed.jsonl")
        return directory
    }

    private func document(_ host: RunningHost, _ path: String) async throws -> HTTPAnswer {
        try await host.firestore.send(
            "GET", "/v1/projects/demo-shop/databases/(default)/documents/\(path)",
            headers: ["Authorization": "Bearer owner"])
    }

    /// What a host that must not start says at its end.
    private func refusal(_ directory: HostDirectory, _ arguments: String...) async throws -> String {
        await HostSlots.take()
        defer { HostSlots.release() }
        let process = try HostProcess(directory, arguments: arguments)
        defer { process.send(SIGKILL) }
        #expect(try await process.end() == 1)
        #expect(process.output.isEmpty, "it greeted: \(process.output)")
        // One sentence, after what was logged.
        return process.errors.split(separator: "\n").last.map(String.init) ?? ""
    }

    @Test(arguments: [[], ["--ephemeral"]])
    func theHostStartsWithTheDocuments(arguments: [String]) async throws {
        let directory = try directory(Self.export(), [.fixture])
        for _ in 0..<(arguments.isEmpty ? 1 : 2) {
            try await RunningHost.serving(in: directory, arguments: ["--import", "seed.jsonl"] + arguments) { host in
                for number in [0, 1199] {
                    let found = try await document(host, "seeds/d\(number)")
                    #expect(found.json["fields"]?["n"]?["integerValue"]?.text == "\(number)")
                    #expect(
                        found.json["fields"]?["r"]?["referenceValue"]?.text
                            == "projects/demo-shop/databases/(default)/documents/seeds/d0")
                }
                try await host.expectEcho()
            }
        }
        guard arguments.isEmpty else { return }
        // What the data directory keeps isn't mixed with the file.
        let text = try await refusal(directory, "--import", "seed.jsonl")
        for word in ["--import seed.jsonl", directory.data, "--ephemeral", "data clear", "data import seed.jsonl"] {
            #expect(text.contains(word), "\(text)")
        }
        try await RunningHost.serving(in: directory) { host in
            let kept = try await document(host, "seeds/d7")
            #expect(kept.status == 200)
        }
    }

    @Test func aDamagedFileLeavesNothing() async throws {
        let wrong = Self.export().replacingOccurrences(
            of: #"{"integerValue":"1100"}"#, with: #"{"integerValue":"many"}"#)
        for (text, words) in [
            (wrong, ["seed.jsonl", "line 1102", "fields.n.integerValue"]),
            (
                String(Self.export(700).dropLast(#"{"count":700}"#.count + 1)),
                ["seed.jsonl", "incomplete after line 701"]
            ),
            (Self.export(700, end: #"{"count":701}"#), ["seed.jsonl", "line 702", "701 documents, but has 700"]),
            (#"{"users":{"ada":{"born":1815}}}"#, ["seed.jsonl", "line 1", "not an export"]),
            ("", ["seed.jsonl", "the input is empty"]),
        ] {
            let directory = try directory(text)
            let said = try await refusal(directory, "--import", "seed.jsonl")
            for word in words { #expect(said.contains(word), "\(said)") }
            #expect(!said.contains("stay"), "\(said)")
            // The next start begins with an empty store.
            try directory.write(Self.export(3), to: "seed.jsonl")
            try await RunningHost.serving(in: directory, arguments: ["--import", "seed.jsonl"]) { host in
                let (last, none) = (try await document(host, "seeds/d2"), try await document(host, "seeds/d3"))
                #expect(last.status == 200)
                #expect(none.status == 404)
            }
        }
    }

    @Test func whatIsNoFileIsRefused() async throws {
        let directory = try directory("")
        let missing = try await refusal(directory, "--import", "missing")
        #expect(missing.contains("missing can't be opened"))
        let exported = directory.path + "/emulators"
        try FileManager.default.createDirectory(atPath: exported, withIntermediateDirectories: true)
        let other = try await refusal(directory, "--import", "emulators")
        #expect(other.contains("emulators is a directory"))
        try directory.write("{}", to: "emulators/firebase-export-metadata.json")
        let firebase = try await refusal(directory, "--import", "emulators")
        #expect(firebase.contains("data import --from HOST:PORT"))
    }

    /// An import at the start invokes no trigger, like `data import`.
    @Test func noTriggerRuns() async throws {
        let lines = [Self.header, #"{"path":"patient/p1","fields":{"n":{"integerValue":"600000"}}}"#, #"{"count":1}"#]
        let directory = try directory(lines.joined(separator: "\n"), [.fixture])
        try await RunningHost.serving(in: directory, arguments: ["--import", "seed.jsonl"]) { host in
            let run = try await DataCommandRun.run(["list", "--json"], in: directory, command: "deliveries")
            #expect(run.status == 0)
            #expect(run.json?["deliveries"]?.list.isEmpty == true, "\(run.output)")
        }
    }
}
