import Foundation
import TestSupport
import Testing

/// `data import --from HOST:PORT`.
@Suite(.endsHangs) struct CopyTests {
    private func offline() throws -> HostDirectory {
        let directory = try HostDirectory()
        try directory.configure([])
        return directory
    }

    @Test(
        .enabled(
            if: OfficialEmulator.isInstalled,
            "the official emulator is not installed: apt-get install google-cloud-cli-firestore-emulator, and Java"))
    func theOfficialEmulatorIsCopied() async throws {
        let emulator = try await OfficialEmulator()
        do {
            try await CopiedDocuments.write(to: emulator.client, project: "demo-shop")
            let expected = try await CopiedDocuments.queried(emulator.client, project: "demo-shop")
            #expect(expected.count == CopiedDocuments.paths.count)
            let address = "127.0.0.1:\(emulator.client.port)"
            // Into a running host, and into a directory without one.
            try await RunningHost.serving([]) { host in
                let run = try await host.data("import", "--from", address)
                #expect(run.output == "imported \(expected.count) documents from \(address)\n", "\(run.errors)")
                let copied = try CopiedDocuments.exported(try await host.data("export").output)
                #expect(CopiedDocuments.differences(copied, expected) == [])
            }
            let directory = try offline()
            let run = try await DataCommandRun.run(["import", "--from", address, "--json"], in: directory)
            #expect(run.json?["documents"]?.integer == expected.count, "\(run.errors)")
            let export = try await DataCommandRun.run(["export"], in: directory)
            let offline = try CopiedDocuments.exported(export.output)
            #expect(CopiedDocuments.differences(offline, expected) == [])
            // An emulator knows every project, and most have nothing.
            let wrong = try await DataCommandRun.run(
                ["import", "--from", address, "--project", "demo-shpo", "--clear"], in: directory)
            #expect(wrong.status == 1)
            #expect(wrong.errors.contains("\(address) has no documents in the project demo-shpo"), "\(wrong.errors)")
            #expect(wrong.errors.contains("--project"), "\(wrong.errors)")
            let kept = try await DataCommandRun.run(["export"], in: directory)
            #expect(try CopiedDocuments.exported(kept.output).count == expected.count)
        } catch {
            try await emulator.stop()
            throw error
        }
        try await emulator.stop()
    }

    @Test func aHostIsCopiedIntoAnotherProject() async throws {
        try await RunningHost.serving([]) { host in
            try await CopiedDocuments.write(to: host.firestore, project: "demo-shop")
            try await host.put("zeros/z", #"{"z":{"doubleValue":-0.0}}"#)
            let address = "127.0.0.1:\(host.firestore.port)"
            let directory = try HostDirectory()
            try directory.configure(bundles: "", project: "demo-copy")
            try await stale(in: directory)
            let run = try await DataCommandRun.run(
                ["import", "--from", address, "--project", "demo-shop", "--clear"], in: directory)
            #expect(
                run.output
                    == "imported \(CopiedDocuments.paths.count + 1) documents from \(address), project demo-shop\n",
                "\(run.errors)")
            let copy = try await DataCommandRun.run(["export"], in: directory).output
            // References lead into the project of the copy.
            let original = try await host.data("export").output
            let moved = original.replacingOccurrences(of: "projects/demo-shop/", with: "projects/demo-copy/")
            #expect(
                CopiedDocuments.differences(
                    try CopiedDocuments.exported(copy), try CopiedDocuments.exported(moved)) == [])
            #expect(copy.contains(#""fields":{"z":{"doubleValue":-0.0}}"#))

            // A host that is copied into itself loses nothing, also if it clears before.
            let itself = try await host.data("import", "--from", address, "--clear", "--json")
            #expect(itself.json?["documents"]?.integer == CopiedDocuments.paths.count + 1, "\(itself.errors)")
            let kept = try CopiedDocuments.exported(try await host.data("export").output)
            #expect(CopiedDocuments.differences(kept, try CopiedDocuments.exported(original)) == [])
        }
    }

    /// A document that only `--clear` removes.
    private func stale(in directory: HostDirectory) async throws {
        let export = """
            {"format":"functions-host documents","version":1,"project":"demo-copy","readTime":"2026-01-01T00:00:00Z"}
            {"path":"stale/s","fields":{}}
            {"count":1}
            """
        #expect(try await DataCommandRun.run(["import"], in: directory, input: export).status == 0)
    }

    @Test func whatIsNoEmulatorIsNamed() async throws {
        let directory = try offline()
        @Sendable func refusal(_ arguments: String..., status: Int32 = 1) async throws -> String {
            let run = try await DataCommandRun.run(["import"] + arguments, in: directory)
            #expect(run.status == status)
            return run.errors
        }
        let free = try await OfficialEmulator.freePort()
        let nobody = try await refusal("--from", "127.0.0.1:\(free)")
        #expect(nobody.contains("no Firestore emulator answers at 127.0.0.1:\(free)"), "\(nobody)")
        for (status, words) in [
            ("404 Not Found", "doesn't answer as a Firestore emulator does"),
            ("403 Forbidden", "refuses access as the owner"), ("200 OK", "doesn't answer as a Firestore emulator does"),
        ] {
            try await ScriptedServer.run { connection in
                _ = try await connection.request()
                try await connection.send("HTTP/1.1 \(status)\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>")
            } body: { url in
                let said = try await refusal("--from", try #require(Self.address(url)))
                #expect(said.contains(words), "\(said)")
            }
        }
        try await ScriptedServer.run { _ in
        } body: { url in
            let said = try await refusal("--from", try #require(Self.address(url)))
            #expect(said.contains("no Firestore emulator answers"), "\(said)")
        }
        for arguments in [["--from", "http://x:1"], ["--from", "x:1", "file"], ["--project", "demo-x"]] {
            let run = try await DataCommandRun.run(["import"] + arguments, in: directory)
            #expect(run.status == 64, "\(run.errors)")
        }
        let project = try await refusal("--from", "127.0.0.1:1", "--project", "Not One", status: 64)
        #expect(project.contains("Not One"))
    }

    /// What has arrived stays, and nothing is deleted before all has.
    @Test(arguments: [false, true]) func aSourceThatEndsIsTold(clears: Bool) async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: "", project: "demo-copy")
        try await stale(in: directory)
        let name = "projects/demo-copy/databases/(default)/documents"
        try await ScriptedServer.run { connection in
            while true {
                let request = try await connection.request()
                let body: String
                guard !request.isEmpty else { return }
                if request.contains("startAt") {
                    return try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n[{")
                }
                let time = "2026-01-02T03:04:05Z"
                body =
                    #"[{"document":{"name":"\#(name)/c/d","createTime":"\#(time)","updateTime":"\#(time)"},"#
                    + #""readTime":"\#(time)"}]"#
                try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        } body: { url in
            let address = try #require(Self.address(url))
            let run = try await DataCommandRun.run(
                ["import", "--from", address] + (clears ? ["--clear"] : []), in: directory)
            #expect(run.status == 1)
            #expect(run.errors.contains("the copy from \(address) ended after 1 documents"), "\(run.errors)")
        }
        let export = try await DataCommandRun.run(["export"], in: directory).output
        #expect(export.contains(#"{"path":"stale/s""#))
    }

    private static func address(_ url: String) -> String? {
        url.split(separator: "/").dropFirst().first.map(String.init)
    }
}
