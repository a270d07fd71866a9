import Foundation
import NIOCore

/// Measures the loop of editing: from a change of one line of a package made by `init` until its new build serves, with
/// debug builds.
struct EditBenchmark: Benchmark {
    static let name = "edits"

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        guard !pace.isQuick else {
            return Section(
                "Edit of one line until it is served", notes: ["left out of a quick run: it builds a package"])
        }
        let folder = (Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0]))
            .deletingLastPathComponent()
        let host = folder.appendingPathComponent("functions-host").path
        let package = directory.appendingPathComponent("guest-book")
        try await ChildProcess.finish(
            ["/bin/sh", "-c", "cd '\(directory.path)' && '\(host)' init guest-book && cd guest-book && swift build"],
            log: directory.appendingPathComponent("init.log"))
        let source = package.appendingPathComponent("Sources/GuestBookFunctions/GuestBookFunctions.swift")
        let original = try String(contentsOf: source, encoding: .utf8)
        guard original.contains("Give your name and a text.") else { throw LoadError("the made package is another") }
        try """
        {
          "project": "\(HostProcess.project)",
          "listen": { "functions": 0, "firestore": 0, "database": 0, "auth": 0, "events": 0 },
          "bundles": [ { "name": "guest-book", "product": "GuestBookFunctions" } ]
        }
        """.write(to: package.appendingPathComponent("functions.json"), atomically: true, encoding: .utf8)
        let child = try ChildProcess(
            host,
            ["serve", "--watch", "--ephemeral", "--config", package.appendingPathComponent("functions.json").path],
            log: directory.appendingPathComponent("watch.log"))
        do {
            let section = try await measure(child, source, original)
            await child.stop()
            return section
        } catch {
            await child.stop()
            throw error
        }
    }

    private func measure(_ child: ChildProcess, _ source: URL, _ original: String) async throws -> Section {
        let port = try await child.wait(for: "list of its ports", within: .seconds(600)) {
            child.output.split(separator: "\n").first { $0.hasPrefix("  functions ") && $0.contains("http://") }?
                .split(separator: ":").last.flatMap { Int($0) }
        }
        let request = Requests(port: port).post(
            "/\(HostProcess.project)/us-central1/sign", #"{"data":{"name":"","text":""}}"#)
        var (served, built): ([Double], [Double]) = ([], [])
        for number in 0..<6 {
            let text = "Edit \(number)."
            let start = ContinuousClock.now
            try original.replacingOccurrences(of: "Give your name and a text.", with: text)
                .write(to: source, atomically: true, encoding: .utf8)
            try await child.wait(for: "answer with the edit", within: .seconds(300)) {
                let answer = try await Load.ask(request, of: port)
                return String(buffer: answer.body).contains(text) ? () : nil
            }
            // The first build after a start reads the whole package again.
            guard number > 0 else { continue }
            served.append((ContinuousClock.now - start).seconds)
            let line = child.output.split(separator: "\n").last { $0.contains("built in ") }
            built.append(line?.split(separator: " ").dropLast().last.flatMap { Double($0) } ?? 0)
        }
        var section = Section(
            "Edit of one line until it is served, \(served.count) times",
            notes: ["a package made by init, debug builds, serve --watch"])
        section.add(
            Row("edit until served: p50", .milliseconds(LoadReport.median(served)), aim: .atMost(.milliseconds(5))))
        section.add(Row("edit until served: worst", .milliseconds(served.max() ?? 0)))
        section.add(Row("swift build within it: p50", .milliseconds(LoadReport.median(built))))
        return section
    }
}
