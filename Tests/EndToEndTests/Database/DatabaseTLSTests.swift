import Foundation
import TestSupport
import Testing

/// The database port with a certificate.
@Suite(.endsHangs, .enabled(if: TestCertificate.isInstalled, "openssl or curl is not installed"))
struct DatabaseTLSTests {
    private static func serving(_ body: (RunningHost, _ certificate: String) async throws -> Void) async throws {
        let directory = try HostDirectory()
        try await TestCertificate.write(to: directory.path)
        try directory.configure(
            bundles: "",
            ports: HostDirectory.freePorts + #", "tls": { "certificate": "cert.pem", "key": "cert-key.pem" }"#)
        try await RunningHost.serving(in: directory) { try await body($0, directory.path + "/cert.pem") }
    }

    @Test func requestsAndWebSocketsComeOverTLS() async throws {
        try await Self.serving { host, certificate in
            let root = "https://localhost:\(host.database.port)/"
            func send(_ arguments: String...) async throws -> String {
                try await TestCertificate.curl(
                    ["-H", "Authorization: Bearer owner"] + arguments, trusting: certificate)
            }
            let socket = try await DatabaseSocket.open(port: host.database.port, trusting: certificate)
            // Where the SDKs connect later.
            #expect(socket.host == "localhost:\(host.database.port)")
            #expect(try await socket.listen(to: "room").isOK)

            // The port speaks HTTP/1.1, on which WebSockets are, also with clients that would rather speak another version.
            #expect(
                try await send("--http2", "-X", "PUT", root + "room/topic.json", "-d", #""Welcome""#)
                    == #""Welcome" 200 HTTP/1.1"#)
            try await Bound.wait("the write is seen") { socket.view()?.value["topic"] == .string("Welcome") }

            // Long messages are sent in pieces, and split among TLS's own records.
            let text = String(repeating: "häufig ", count: 40_000)
            #expect(try await socket.request("p", #"{"p":"/room/text","d":"\#(text)"}"#).isOK)
            #expect(socket.view()?.value["text"] == .string(text))
            let file = host.directory.path + "/text.json"
            #expect(try await send(root + "room/text.json", "-o", file) == "200 HTTP/1.1")
            #expect(
                try JSON(parsing: String(decoding: try Data(contentsOf: URL(fileURLWithPath: file)), as: UTF8.self))
                    == .string(text))
            #expect(try await send("-X", "PUT", root + "copy.json", "-d", "@" + file, "-o", file) == "200 HTTP/1.1")
            let other = try await DatabaseSocket.open(port: host.database.port, trusting: certificate)
            #expect(try await other.listen(to: "copy").isOK)
            #expect(other.view()?.value == .string(text))
            await other.close()
            await socket.close()
        }
    }

    @Test func clientsWithoutTLSAndThoseWithAnotherCertificateAreRefused() async throws {
        try await Self.serving { host, certificate in
            try await TestCertificate.write(to: host.directory.path, name: "other")
            await #expect(throws: (any Error).self) {
                try await DatabaseSocket.open(
                    port: host.database.port, trusting: host.directory.path + "/other.pem")
            }
            await #expect(throws: (any Error).self) { try await DatabaseSocket.open(port: host.database.port) }
            let plain = try await host.database.send("GET", "/room.json")
            #expect(plain.status == 400 && plain.text.contains("https"), "\(plain)")
            // Those who have it are served as before.
            let socket = try await DatabaseSocket.open(port: host.database.port, trusting: certificate)
            #expect(try await socket.request("p", #"{"p":"/room","d":1}"#).isOK)
            await socket.close()
        }
    }
}
