import Foundation

/// A host in production mode, which has the functions port and the firestore port, and the auth port if it issues tokens.
struct ProductionHost: Sendable {
    static let project = "my-shop-1"

    let directory: HostDirectory
    let process: HostProcess
    let functions: Int
    let firestore: Int
    /// Nil if Google issues the users' tokens.
    let auth: Int?

    /// Runs a test against a host of its own, and ends it afterwards.
    /// - Parameters:
    ///   - bundles: the elements of `bundles`.
    ///   - listen: further members of `listen`.
    ///   - prepare: writes what the configuration names.
    static func serving(
        bundles: String = "", listen: String = "", extra: String = "",
        prepare: (HostDirectory) async throws -> Void = { _ in },
        _ body: (ProductionHost) async throws -> Void
    ) async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try await prepare(directory)
        try configure(directory, bundles: bundles, listen: listen, extra: extra)
        let host = try await start(in: directory)
        let process = host.process
        defer { process.send(SIGKILL) }
        do { try await body(host) } catch {
            print("the host's log:\n\(process.errors.suffix(4000))")
            throw error
        }
        process.send(SIGTERM)
        guard try await process.end() == 0 else { throw Bound.Exceeded(description: process.errors) }
    }

    static func configure(
        _ directory: HostDirectory, bundles: String = "", listen: String = "", extra: String = ""
    ) throws {
        try directory.write(
            """
            { "project": "\(project)", "mode": "production", "data": "\(directory.data)", "bundles": [\(bundles)],
              "listen": { "functions": 0, "firestore": 0, "database": 0, "auth": 0\(listen.isEmpty ? "" : ", " + listen) }\(extra) }
            """, to: "functions.json")
    }

    /// Starts a host in a directory that has a configuration, and returns once it serves.
    static func start(in directory: HostDirectory) async throws -> ProductionHost {
        let process = try HostProcess(directory)
        try await Bound.wait("the host serves") {
            guard process.isRunning else { throw Bound.Exceeded(description: process.errors) }
            return process.port("firestore") != nil
        }
        return ProductionHost(
            directory: directory, process: process, functions: process.port("functions") ?? 0,
            firestore: process.port("firestore") ?? 0, auth: process.port("auth"))
    }
}
