import Foundation
import TestSupport
import NIOPosix

/// Makes certificates, and sends requests over TLS, with the system's `openssl` and `curl`.
enum TestCertificate {
    struct Failure: Error, CustomStringConvertible { let description: String }

    static var isInstalled: Bool {
        ["/usr/bin/openssl", "/usr/bin/curl"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Writes a certificate for `localhost` that has signed itself, and its key.
    static func write(to directory: String, name: String = "cert") async throws {
        _ = try await run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", "\(directory)/\(name)-key.pem", "-out", "\(directory)/\(name).pem",
            ])
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: "\(directory)/\(name)-key.pem")
    }

    /// - Returns: the body, the status and the version of HTTP, in one line.
    static func curl(_ arguments: [String], trusting certificate: String) async throws -> String {
        let format = #"\n%{http_code} HTTP/%{http_version}"#
        let text = try await run("curl", ["-s", "--cacert", certificate, "-w", format, "-m", "300"] + arguments)
        return text.split(separator: "\n").joined(separator: " ")
    }

    static func run(_ program: String, _ arguments: [String]) async throws -> String {
        try await NIOThreadPool.singleton.runIfActive {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/" + program)
            process.arguments = arguments
            let output = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            try process.start()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw Failure(description: "\(program) \(arguments) ended with \(process.terminationStatus)")
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
}
