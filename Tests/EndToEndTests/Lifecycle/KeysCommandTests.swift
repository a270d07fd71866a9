import Foundation
import TestSupport
import Testing

/// `functions-host keys`, and what servers may do with a key in production.
@Suite(.endsHangs) struct KeysCommandTests {
    private func keys(_ arguments: String..., in directory: HostDirectory) async throws -> DataCommandRun {
        try await DataCommandRun.run(arguments + ["--json"], in: directory, command: "keys")
    }

    @Test(.enabled(if: ClientScript.isInstalled, "google-auth is not installed: .ci/oracles"))
    func aServerWithAKeyIsTheAdministratorUntilItIsRevoked() async throws {
        try await ProductionHost.serving { host in
            let directory = host.directory
            let url = "http://127.0.0.1:\(host.firestore)"
            let created = try await keys("create", "shop", "--out", "shop.json", "--url", url, in: directory)
            #expect(created.status == 0, "\(created.errors)\(created.output)")
            let id = try #require(created.json?["id"]?.text)
            let scripts = try ["token", "self-signed"].map {
                try ClientScript(
                    "server_rest.py", [directory.path + "/shop.json", url, ProductionHost.project, $0],
                    in: directory.path)
            }
            for script in scripts {
                #expect(try await script.ask("write") == "200")
                #expect(try await script.ask("read") == "200")
            }
            let client = HTTPClient(port: host.firestore)
            let path = "/v1/projects/\(ProductionHost.project)/databases/(default)/documents/kept/token"
            #expect(try await client.send("GET", path).status == 403)
            #expect(try await client.send("GET", path, headers: ["Authorization": "Bearer owner"]).status == 401)

            #expect(try await keys("revoke", String(id.prefix(12)), in: directory).status == 0)
            #expect(try await scripts[1].ask("read") == "401")
            // google-auth takes a 401 for an expired token, and asks for another one.
            #expect(try await scripts[0].ask("read") == "refused invalid_grant")
            for script in scripts { try await script.succeed() }
        }
    }

    @Test func aWrongPathHasNoKeysAndMakesNoDataDirectory() async throws {
        let directory = try HostDirectory()
        try directory.configure([])
        let missing = directory.path + "/missing"
        for arguments in [["list"], ["revoke", "abc"]] {
            let run = try await DataCommandRun.run(arguments + ["--data", missing], in: directory, command: "keys")
            #expect(run.status == 1 && run.errors.contains("\(missing) does not exist"), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }

    @Test func keysAreMadeWithoutAHost() async throws {
        let directory = try HostDirectory()
        try directory.write(
            """
            { "project": "my-shop-1", "mode": "production", "data": "\(directory.data)", "bundles": [],
              "listen": { "firestore": 8443 } }
            """, to: "functions.json")
        let created = try await keys("create", "jobs", in: directory)
        #expect(created.status == 0, "\(created.errors)\(created.output)")
        #expect(created.json?["tokenURI"]?.text == "http://127.0.0.1:8443/token")
        let file = directory.path + "/jobs-key.json"
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let content = FileManager.default.contents(atPath: file)
        // The file is there, and the key of the second attempt is not kept.
        let again = try await keys("create", "jobs", in: directory)
        #expect(again.status == 1)
        #expect(again.output.contains("already exists"))
        #expect(FileManager.default.contents(atPath: file) == content)
        let listed = try await keys("list", in: directory)
        #expect(listed.json?.list.map { $0["id"]?.text } == [created.json?["id"]?.text])
        let id = try #require(created.json?["id"]?.text)
        #expect(try await keys("revoke", id, in: directory).status == 0)
        #expect(try await keys("revoke", id, in: directory).output.contains("no key has the id"))
        #expect(try await keys("list", in: directory).json?.list.isEmpty == true)
    }

    @Test(arguments: [
        (["create", "Shop"], "is not a server's name"), (["create", "a", "--url", "ftp://x"], "is not a URL"),
        (["create", "a", "--url", "http://db.example.com"], "unencrypted"),
        (["create", "a", "--url", "https://db.example.com/v1"], "not /token"),
        (["create", "a"], "listen.firestore is 0"),
    ])
    func mistakesAreExplained(_ arguments: [String], _ message: String) async throws {
        let directory = try HostDirectory()
        try directory.write(
            """
            { "project": "my-shop-1", "mode": "production", "data": "\(directory.data)", "bundles": [],
              "listen": { "firestore": 0 } }
            """, to: "functions.json")
        let run = try await DataCommandRun.run(arguments, in: directory, command: "keys")
        #expect(run.status == 64)
        #expect(run.errors.contains(message), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/a-key.json"))
    }
}
