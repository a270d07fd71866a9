import Foundation
import TestSupport

/// The Swift compiler, on code that imports the built modules.
enum Compiler {
    /// The errors of files that form one module, in order.
    ///
    /// - Parameter arguments: further ones of the compiler.
    static func errors(
        in files: [String], of directory: URL, _ arguments: [String] = [], imports: Bool = true
    ) async throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["swiftc", "-swift-version", "6", "-typecheck", "-wmo", "-parse-as-library"]
            + (imports ? try moduleArguments() : []) + arguments + files
        process.currentDirectoryURL = directory
        let output = directory.appending(path: "messages-\(UUID().uuidString)")
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        process.standardError = handle
        process.standardOutput = handle
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.start() } catch { continuation.resume(throwing: error) }
        }
        let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
        let errors = text.split(separator: "\n").map(String.init).filter { $0.contains("error: ") && $0.first != " " }
        guard errors.isEmpty, process.terminationStatus != 0 else { return errors }
        return [text]
    }

    private static func moduleArguments() throws -> [String] {
        let build = URL(fileURLWithPath: BuiltProducts.host).deletingLastPathComponent().resolvingSymlinksInPath()
        let checkouts = build.deletingLastPathComponent().deletingLastPathComponent().appending(path: "checkouts")
        var maps = try children(of: build).filter { $0.pathExtension == "build" }.map {
            $0.appending(path: "module.modulemap")
        }
        for target in try children(of: checkouts).flatMap({ try children(of: $0.appending(path: "Sources")) }) {
            maps.append(target.appending(path: "include/module.modulemap"))
        }
        maps = maps.filter { FileManager.default.fileExists(atPath: $0.path) }
        return ["-I", build.appending(path: "Modules").path]
            + maps.flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)"] }
    }

    private static func children(of directory: URL) throws -> [URL] {
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    }
}
