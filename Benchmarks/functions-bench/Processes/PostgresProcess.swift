import Foundation

/// A PostgreSQL server with a new database, if PostgreSQL is installed. It syncs each commit, as it does by default.
struct PostgresProcess: Sendable {
    let child: ChildProcess
    private let port: Int
    private let directory: URL
    private let programs: Programs

    private struct Programs {
        /// Where `initdb` and `postgres` are.
        var folder: String
        /// Runs a program as another user: PostgreSQL refuses to run as root.
        var prefix: [String]

        func command(_ name: String, _ arguments: [String]) -> [String] { prefix + ["\(folder)/\(name)"] + arguments }
    }

    /// - Returns: nil if it isn't installed.
    static func start(in directory: URL) async throws -> PostgresProcess? {
        guard let programs = programs() else { return nil }
        let data = directory.appendingPathComponent("postgres")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let log = directory.appendingPathComponent("postgres.log")
        if !programs.prefix.isEmpty {
            try await ChildProcess.finish(["/usr/bin/chown", "postgres", data.path], log: log)
        }
        try await ChildProcess.finish(
            programs.command("initdb", ["-D", data.path, "-U", "bench", "-A", "trust", "--no-locale", "-E", "UTF8"]),
            log: log)
        let port = try await ChildProcess.freePort()
        let arguments = programs.command(
            "postgres",
            ["-D", data.path, "-p", "\(port)", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="])
        let child = try ChildProcess(arguments[0], Array(arguments.dropFirst()), log: log)
        let server = PostgresProcess(child: child, port: port, directory: directory, programs: programs)
        do {
            return try await child.wait(for: "answer on its port") {
                (try? await server.run("SELECT 1")) == nil ? nil : server
            }
        } catch {
            await child.stop()
            throw error
        }
    }

    private static func programs() -> Programs? {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let folders = versions.compactMap { Int($0) }.sorted(by: >).map { "\(root)/\($0)/bin" }
        guard
            let folder = folders.first(where: { folder in
                ["initdb", "postgres", "pgbench", "psql"]
                    .allSatisfy { FileManager.default.isExecutableFile(atPath: "\(folder)/\($0)") }
            })
        else { return nil }
        let prefix = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        return Programs(folder: folder, prefix: getuid() == 0 ? prefix : [])
    }

    /// Runs SQL, and returns what it selects, unaligned.
    @discardableResult
    func run(_ sql: String) async throws -> String {
        try await ChildProcess.finish(
            ["\(programs.folder)/psql"] + connection + ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql],
            log: directory.appendingPathComponent("psql.log")
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What `pgbench` reports.
    struct Report {
        var operations = 0
        var failed = 0
        var elapsed = 0.0
        /// CPU seconds of the server's processes.
        var cpu = 0.0

        var perSecond: Double { Double(operations) / elapsed }
        var cpuPerOperation: Double { cpu / Double(operations) }

        mutating func add(_ other: Report) {
            operations += other.operations
            failed += other.failed
            elapsed += other.elapsed
            cpu += other.cpu
        }
    }

    /// Runs a script of `pgbench` with prepared statements, again and again. What connecting costs doesn't count.
    func run(script: URL, clients: Int, seconds: Int) async throws -> Report {
        let connecting = try await run(script, clients, for: ["-t", "1"])
        var report = try await run(script, clients, for: ["-T", "\(seconds)"])
        report.cpu -= connecting.cpu * (1 - Double(connecting.operations) / Double(max(report.operations, 1)))
        return report
    }

    private func run(_ script: URL, _ clients: Int, for length: [String]) async throws -> Report {
        let cpu = try child.tree.cpuSeconds()
        let output = try await ChildProcess.finish(
            ["\(programs.folder)/pgbench"] + connection + [
                "-n", "-M", "prepared", "-c", "\(clients)", "-f", script.path,
            ] + length, log: directory.appendingPathComponent("pgbench.log"))
        func number(after words: String) throws -> Double {
            guard let range = output.range(of: words),
                let number = Double(output[range.upperBound...].prefix { $0.isNumber || $0 == "." })
            else { throw LoadError("pgbench doesn't say \"\(words)\": \(output)") }
            return number
        }
        let (operations, perSecond) = (
            try number(after: "number of transactions actually processed: "), try number(after: "tps = ")
        )
        return Report(
            operations: Int(operations), failed: Int(try number(after: "number of failed transactions: ")),
            elapsed: operations / perSecond, cpu: try child.tree.cpuSeconds() - cpu)
    }

    private var connection: [String] { ["-h", "127.0.0.1", "-p", "\(port)", "-U", "bench", "-d", "postgres"] }
}
