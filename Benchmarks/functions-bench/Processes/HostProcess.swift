import Foundation
import StorageEngine
import NIOCore

/// A `functions-host` with its own data directory, on free ports.
struct HostProcess: Sendable {
    struct Ports: Sendable {
        var functions: Int
        var firestore: Int
        var database: Int
        var auth: Int
    }

    static let project = "demo-shop"

    let child: ChildProcess
    /// The program that it runs.
    let program: String
    let ports: Ports
    /// The time from the start of the process until all ports had answered.
    let startTime: Duration

    /// Starts a host and waits until all ports answer.
    ///
    /// - Parameters:
    ///   - bundles: products in the same directory as this program.
    ///   - environment: further variables for the bundles; the host's own environment isn't passed on.
    ///   - settings: further keys of `functions.json`.
    ///   - directory: the directory of configuration and data. Existing data are used.
    static func start(
        bundles: [String], environment: [String: String] = [:], settings: String? = nil, in directory: URL
    ) async throws -> HostProcess {
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let folder = (Bundle.main.executableURL ?? products).deletingLastPathComponent()
        let host = folder.appendingPathComponent("functions-host").path
        for program in [host] + bundles.map({ folder.appendingPathComponent($0).path })
        where !FileManager.default.isExecutableFile(atPath: program) {
            throw LoadError("\(program) is missing; build it: swift build -c release --product …")
        }
        let file = directory.appendingPathComponent("functions.json")
        var executables = bundles.map { folder.appendingPathComponent($0).path }
        if !environment.isEmpty { executables = try executables.map { try script($0, environment, in: directory) } }
        try configuration(executables, settings)
            .write(to: file, atomically: true, encoding: .utf8)
        let start = ContinuousClock.now
        let child = try ChildProcess(
            host, ["serve", "--config", file.path], log: directory.appendingPathComponent("host.log"))
        do {
            let ports = try await child.wait(for: "list of its ports") { Self.ports(child.output) }
            for port in [ports.functions, ports.firestore, ports.database, ports.auth] {
                _ = try await Load.ask(Requests(port: port).get("/"), of: port)
            }
            return HostProcess(child: child, program: host, ports: ports, startTime: ContinuousClock.now - start)
        } catch {
            await child.stop()
            throw error
        }
    }

    /// Writes a script that executes a program with the given environment.
    private static func script(
        _ program: String, _ environment: [String: String], in directory: URL
    ) throws -> String {
        let file = directory.appendingPathComponent(URL(fileURLWithPath: program).lastPathComponent)
        let variables = environment.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        try Data("#!/bin/sh\nexec env \(variables) '\(program)' \"$@\"\n".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        return file.path
    }

    private static func configuration(_ bundles: [String], _ settings: String?) -> String {
        let list = bundles.enumerated().map { #"{ "name": "bundle\#($0)", "executable": "\#($1)" }"# }
        return """
            {
              "project": "\(project)",
              "mode": "development",
              "data": "data",
              "listen": { "host": "127.0.0.1", "functions": 0, "firestore": 0, "database": 0, "auth": 0, "events": 0 },
              "store": { "engine": "\(MeasuredEngine.kind.rawValue)" },
              "bundles": [ \(list.joined(separator: ", ")) ]\(settings.map { ", " + $0 } ?? "")
            }
            """
    }

    /// The ports in the host's greeting, once it is complete: `  auth       http://127.0.0.1:9099`.
    private static func ports(_ output: String) -> Ports? {
        func port(_ name: String) -> Int? {
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let line = lines.first { $0.hasPrefix("  \(name) ") && $0.contains("http://") }
            return line?.split(separator: ":").last.flatMap { Int($0) }
        }
        guard let functions = port("functions"), let firestore = port("firestore"), let database = port("database"),
            let auth = port("auth")
        else { return nil }
        return Ports(functions: functions, firestore: firestore, database: database, auth: auth)
    }

    /// The path of a function's URL.
    static func path(_ function: String) -> String { "/\(project)/asia-northeast1/\(function)" }

    /// Signs up the given number of users.
    func signUp(_ count: Int) async throws -> [User] {
        let request = Requests(port: ports.auth)
            .post("/identitytoolkit.googleapis.com/v1/accounts:signUp?key=bench", #"{"returnSecureToken":true}"#)
        let users = Collector<User>()
        let callers = ListCaller.dealt(Array(repeating: request, count: count), to: min(16, count)) { answer in
            guard let user = try? JSONDecoder().decode(User.self, from: Data(answer.body.readableBytesView)) else {
                return false
            }
            users.append(user)
            return true
        }
        try await Load.runToEnd(callers, to: ports.auth).check()
        return users.all
    }

    /// A signed-up user.
    struct User: Decodable, Sendable {
        var localId: String
        var idToken: String
    }
}

extension LoadReport {
    /// - Throws: ``LoadError`` if an operation failed.
    func check() throws {
        guard errors == 0 else {
            throw LoadError("\(errors) operations failed during preparation:  \(firstError ?? "")")
        }
    }
}
