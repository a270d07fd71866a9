import Foundation
import TestSupport
import Testing

/// Security rules and indexes that are deployed with a bundle, or by themselves.
@Suite(.endsHangs) struct RulesDeploymentTests {
    private static let documents = "/v1/projects/demo-shop/databases/(default)/documents"

    private static func rules(_ collection: String) -> String {
        """
        rules_version = '2';
        service cloud.firestore {
          match /databases/{database}/documents {
            match /\(collection)/{id} {
              allow get: if request.auth == null;
            }
          }
        }
        """
    }

    private static func indexes(_ field: String) -> String {
        """
        { "indexes": [ { "collectionGroup": "orders", "queryScope": "COLLECTION", "fields": [
          { "fieldPath": "buyer", "order": "ASCENDING" }, { "fieldPath": "\(field)", "order": "DESCENDING" } ] } ] }
        """
    }

    /// The collection, of a few, that the host's rules let unauthenticated clients read.
    private static func readable(_ host: RunningHost) async throws -> String? {
        for collection in ["a", "b", "c", "d"] {
            let answer = try await host.firestore.send("GET", "\(documents)/\(collection)/x")
            if answer.status == 404 { return collection }
        }
        return nil
    }

    /// A second configuration of the same host, as an operator deploys from another directory.
    private static func configure(_ host: RunningHost, rules: String, indexes: String? = nil) throws -> [String] {
        try host.directory.write(rules, to: "new.rules")
        var extra = #""rules": "new.rules""#
        if let indexes {
            try host.directory.write(indexes, to: "new.indexes.json")
            extra += #", "indexes": "new.indexes.json""#
        }
        try host.directory.write(
            #"{ "project": "demo-shop", "data": "\#(host.directory.data)", \#(extra) }"#, to: "new.json")
        return ["--config", host.directory.path + "/new.json"]
    }

    /// A directory whose configuration names a file of rules.
    private static func makeDirectory() throws -> HostDirectory {
        let directory = try HostDirectory()
        try directory.write(rules("a"), to: "own.rules")
        try directory.configure([], extra: #""rules": "own.rules""#)
        return directory
    }

    @Test func aDeploymentTakesRulesAndIndexesAlongAndARollbackTakesThemBack() async throws {
        try await RunningHost.serving(in: try Self.makeDirectory()) { host in
            #expect(try await Self.readable(host) == "a")
            let bundles = try [host.fixtureBundle("a"), host.fixtureBundle("b")]
            func deploy(_ number: Int, _ rules: String, _ more: String...) async throws -> DataCommandRun {
                let config = try Self.configure(host, rules: Self.rules(rules), indexes: Self.indexes("time\(number)"))
                return try await host.command(
                    ["deploy", "--executable", bundles[number], "--bundle", "fixture"] + config + more)
            }
            let dry = try await deploy(0, "b", "--dry-run")
            #expect(dry.status == 0, "\(dry.errors)")
            for words in [
                "  - 4:     match /a/{id} {", "  + 4:     match /b/{id} {",
                "  + index orders (collection): buyer ascending, time0 descending", "nothing was changed",
            ] {
                #expect(dry.output.contains(words), "\(dry.output)")
            }
            #expect(try await Self.readable(host) == "a")
            let first = try await deploy(0, "b", "--yes")
            #expect(first.status == 0 && first.output.contains("; the rules are those of the release "), "\(first)")
            #expect(try await Self.readable(host) == "b")
            let second = try await deploy(1, "c", "--yes")
            #expect(second.output.contains("  - index orders (collection): buyer ascending, time0 descending"))
            #expect(try await Self.readable(host) == "c")
            // Nothing is switched if a part fails.
            let bad = try host.bundle("lame", DeploymentTests.lame)
            let config = try Self.configure(host, rules: Self.rules("d"))
            let failed = try await host.command(
                ["deploy", "--executable", bad, "--bundle", "fixture", "--yes"] + config)
            #expect(failed.status == 1 && failed.output.contains("match /d/{id}"), "\(failed)")
            #expect(try await Self.readable(host) == "c")
            // The same again changes nothing.
            #expect(try await deploy(1, "c", "--yes").output.contains("already serves"))

            #expect(try await host.command(["rollback", "fixture"]).status == 0)
            #expect(try await Self.readable(host) == "b")
            let same = try Self.configure(host, rules: Self.rules("b"), indexes: Self.indexes("time0"))
            #expect(try await host.command(["deploy", "--only", "rules", "--yes"] + same).output.contains("already"))
            // Rules that were deployed by themselves since stay.
            #expect(try await host.command(["rollback", "fixture", "--to", try await Self.newest(host)]).status == 0)
            #expect(try await Self.readable(host) == "c")
            let alone = try Self.configure(host, rules: Self.rules("d"))
            #expect(try await host.command(["deploy", "--only", "rules", "--yes"] + alone).status == 0)
            #expect(try await Self.readable(host) == "d")
            #expect(try await host.command(["rollback", "fixture"]).status == 0)
            #expect(try await Self.readable(host) == "d")
            // And lead back by themselves, to the file that was served before any deployment.
            for expected in ["c", "b", "a"] {
                let back = try await host.command(["rollback", "rules"])
                #expect(back.status == 0, "\(back.errors)")
                #expect(try await Self.readable(host) == expected)
            }
            let listing = try await host.command(["releases"])
            #expect(listing.output.contains("\nrules\n"), "\(listing.output)")
        }
    }

    @Test func aRollbackServesNoRulesThatWereNeverDeployed() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makeDirectory()
        var host = try await RunningHost.start(in: directory)
        let (first, second) = (try host.fixtureBundle("a"), try host.fixtureBundle("b"))
        #expect(try await host.deploy(first, as: "fixture", "--only", "functions").status == 0)
        // Takes the rules along as they are served.
        #expect(try await host.deploy(second, as: "fixture").status == 0)
        try await host.kill()
        try directory.write(Self.rules("b"), to: "own.rules")
        let back = try await host.command(["rollback", "fixture"])
        #expect(back.status == 0, "\(back.errors)")
        host = try await RunningHost.start(in: directory)
        #expect(try await Self.readable(host) == "a")
        try await host.kill()
    }

    private static func newest(_ host: RunningHost) async throws -> String {
        let bundle = try await host.releases().first { $0["name"]?.text == "fixture" }
        return try #require(bundle?["releases"]?.list.last?["id"]?.text)
    }

    @Test func deployedRulesSurviveAKillAndWhatDoesntCompileIsNotDeployed() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makeDirectory()
        var host = try await RunningHost.start(in: directory)
        let broken = try Self.configure(host, rules: Self.rules("b").replacing("==", with: "="))
        for arguments in [["--only", "rules"], ["--executable", try host.fixtureBundle("a"), "--bundle", "fixture"]] {
            let run = try await host.command(["deploy", "--yes"] + arguments + broken)
            #expect(run.status == 1 && run.errors.contains("new.rules:5:34: expected"), "\(run.errors)")
        }
        #expect(try await Self.readable(host) == "a")
        #expect(try await host.current("fixture") == nil)
        let config = try Self.configure(host, rules: Self.rules("b"))
        #expect(try await host.command(["deploy", "--only", "rules", "--yes"] + config).status == 0)
        try await host.kill()

        host = try await RunningHost.start(in: directory)
        #expect(try await Self.readable(host) == "b")
        #expect(host.process.output.contains("the rules and indexes are those of the deployed release"))
        // In development a changed file is taken over all the same.
        try directory.write(Self.rules("c"), to: "own.rules")
        try await Bound.wait("the file is taken over") { try await Self.readable(host) == "c" }
        try await host.kill()

        host = try await RunningHost.start(in: directory, arguments: ["--local"])
        #expect(try await Self.readable(host) == "c")
        #expect(try await host.command(["undeploy", "rules"]).status == 0)
        try await host.kill()
        let offline = try await host.command(["rollback", "rules"])
        #expect(offline.status == 0, "\(offline.errors)")
        host = try await RunningHost.start(in: directory)
        #expect(try await Self.readable(host) == "b")
        // What a damaged directory holds isn't served.
        try await host.kill()
        for file in try FileManager.default.subpathsOfDirectory(atPath: directory.data + "/releases/rules")
        where file.hasSuffix("firestore.rules") {
            try Data(Self.rules("d").utf8).write(to: URL(fileURLWithPath: directory.data + "/releases/rules/" + file))
        }
        let damaged = try HostProcess(directory)
        #expect(try await damaged.end() != 0)
        #expect(damaged.errors.contains("its files have changed since it was deployed"), "\(damaged.errors)")
    }
}
