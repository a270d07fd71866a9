import Foundation
import TestSupport
import Testing

/// Ports with a certificate.
@Suite(.endsHangs, .enabled(if: TestCertificate.isInstalled, "openssl or curl is not installed"))
struct TLSTests {
    private static let tls = #""tls": { "certificate": "cert.pem", "key": "cert-key.pem" }"#

    private func serving(_ body: (ProductionHost) async throws -> Void) async throws {
        try await ProductionHost.serving(listen: Self.tls) { directory in
            try await TestCertificate.write(to: directory.path)
        } _: {
            try await body($0)
        }
    }

    /// `google-cloud-firestore`, unmodified, in the three ways in which its libraries use a key file.
    @Test(
        .enabled(if: ClientScript.isInstalled, "google-cloud-firestore is not installed: .ci/oracles"),
        arguments: ["token", "self-signed", "service"])
    func aServerWithAKeyFileReadsWritesAndListens(_ how: String) async throws {
        try await serving { host in
            let directory = host.directory
            let certificate = directory.path + "/cert.pem"
            let url = "https://localhost:\(host.firestore)"
            func start(_ name: String) async throws -> (key: String, script: ClientScript) {
                let created = try await DataCommandRun.run(
                    ["create", name, "--url", url, "--json"], in: directory, command: "keys")
                let file = try #require(created.json?["file"]?.text, "\(created.errors)")
                let script = try ClientScript(
                    "server_secure.py", [file, "\(host.firestore)", ProductionHost.project, how],
                    environment: [
                        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": certificate, "REQUESTS_CA_BUNDLE": certificate,
                    ], in: directory.path)
                return (created.json?["id"]?.text ?? "", script)
            }
            let (id, server) = try await start("shop")
            let (_, other) = try await start("jobs")
            for (id, n) in [("a", 1), ("b", 2), ("c", 3)] {
                #expect(try await server.ask("write \(id) \(n)") == "written")
            }
            #expect(try await server.ask("read b") == "2")
            #expect(try await server.ask("query") == "b c")
            #expect(try await server.ask("listen") == "a b c")
            #expect(try await server.ask("write d 4") == "written")
            #expect(try await server.ask("hear a b c d") == "a b c d")
            #expect(try await other.ask("listen") == "a b c d")

            let revoked = try await DataCommandRun.run(["revoke", id], in: directory, command: "keys")
            #expect(revoked.status == 0, "\(revoked.errors)")
            #expect(try await other.ask("write e 5") == "written")
            #expect(try await other.ask("hear a b c d e") == "a b c d e")
            #expect(try await server.ask("heard") == "a b c d")
            #expect(try await server.ask("read b") == "refused UNAUTHENTICATED")
            #expect(try await server.ask("write a 9") == "refused UNAUTHENTICATED")
            // Its library tries to listen for ever.
            server.kill()
            try await other.succeed()
        }
    }

    @Test(arguments: ["--http1.1", "--http2"])
    func requestsComeOverEitherVersion(_ version: String) async throws {
        try await serving { host in
            let certificate = host.directory.path + "/cert.pem"
            func send(_ port: Int, _ path: String, _ arguments: String...) async throws -> String {
                try await TestCertificate.curl(
                    [version, "https://localhost:\(port)\(path)"] + arguments, trusting: certificate)
            }
            let spoken = version == "--http2" ? "2" : "1.1"
            let path = "/v1/projects/\(ProductionHost.project)/databases/(default)/documents/a/b"
            let answer = try await send(host.firestore, path)
            #expect(answer.contains("PERMISSION_DENIED"))
            #expect(answer.hasSuffix("403 HTTP/\(spoken)"), "\(answer)")
            let head = try await send(host.firestore, path, "--head")
            #expect(head.hasSuffix("403 HTTP/\(spoken)") || head.hasSuffix("404 HTTP/\(spoken)"), "\(head)")
            let token = try await send(host.firestore, "/token", "-d", "grant_type=x")
            #expect(token.contains("unsupported_grant_type"))
            #expect(token.hasSuffix("400 HTTP/\(spoken)"), "\(token)")
            // Functions speak HTTP/1.1 alone, and say so in the handshake.
            #expect(try await send(host.functions, "/none").hasSuffix("404 HTTP/1.1"))
        }
    }

    /// Large bodies in both directions, the web's streams, and names that a development host answers to.
    @Test func largeRequestsAndStreamsComeOverHTTP2() async throws {
        let directory = try HostDirectory()
        try await TestCertificate.write(to: directory.path)
        try directory.configure(bundles: "", ports: HostDirectory.freePorts + ", " + Self.tls)
        try await RunningHost.serving(in: directory) { host in
            let certificate = directory.path + "/cert.pem"
            let root = "https://localhost:\(host.firestore.port)"
            let documents = root + "/v1/projects/demo-shop/databases/(default)/documents"
            func send(_ arguments: String...) async throws -> String {
                try await TestCertificate.curl(
                    ["--http2", "-H", "Authorization: Bearer owner"] + arguments, trusting: certificate)
            }
            let text = String(repeating: "x", count: 900_000)
            for id in 0..<5 {
                try directory.write(#"{"fields":{"t":{"stringValue":"\#(text)"}}}"#, to: "body.json")
                let written = try await send(
                    "-X", "PATCH", documents + "/large/\(id)", "-d", "@\(directory.path)/body.json", "-o",
                    directory.path + "/answer.json")
                #expect(written == "200 HTTP/2")
            }
            let listed = directory.path + "/listed.json"
            #expect(try await send(documents + "/large", "-o", listed) == "200 HTTP/2")
            let found = try JSON(
                parsing: String(decoding: FileManager.default.contents(atPath: listed) ?? Data(), as: UTF8.self))
            #expect(
                found["documents"]?.list.map { $0["fields"]?["t"]?["stringValue"]?.text }
                    == Array(repeating: text, count: 5))
            try directory.write(String(repeating: "x", count: 11 << 20), to: "body.json")
            let refused = try await send("-X", "PATCH", documents + "/large/0", "-d", "@\(directory.path)/body.json")
            #expect(refused.hasSuffix("400 HTTP/2"), "\(refused.suffix(300))")

            let foreign = try await send(documents + "/large/0", "-H", "Host: evil.example", "-o", listed)
            #expect(foreign == "421 HTTP/2")

            // A session of WebChannel: a stream that is answered whenever there is something.
            let channel =
                root
                + "/google.firestore.v1.Firestore/Listen/channel?VER=8&database=projects/demo-shop/databases/(default)"
            let target =
                #"{"database":"projects/demo-shop/databases/(default)","addTarget":{"documents":{"documents":["projects/demo-shop/databases/(default)/documents/heard/a"]},"targetId":2}}"#
            let opened = try await send(
                channel + "&RID=1&CVER=22", "--data-urlencode", "headers=Authorization: Bearer owner\r\n",
                "--data-urlencode", "count=1", "--data-urlencode", "ofs=0", "--data-urlencode",
                "req0___data__=\(target)")
            #expect(opened.hasSuffix("200 HTTP/2"), "\(opened)")
            let parts = opened.split(separator: "\"")
            let session = try #require(parts.count > 3 ? parts[3] : nil)
            let back = try await send(channel + "&RID=rpc&SID=\(session)&AID=0&CI=1&TYPE=xmlhttp")
            #expect(back.contains("targetChange"), "\(back)")
            #expect(back.hasSuffix("200 HTTP/2"))
        }
    }

    @Test func plainRequestsAreToldWhatIsWrong() async throws {
        try await serving { host in
            for port in [host.firestore, host.functions] {
                let answer = try await HTTPClient(port: port).send("GET", "/")
                #expect(answer.status == 400)
                #expect(answer.text == "This port speaks https.\n")
            }
        }
    }

    @Test func aChangedCertificateIsTakenOver() async throws {
        try await serving { host in
            let (directory, files) = (host.directory.path, FileManager.default)
            try await TestCertificate.write(to: directory, name: "next")
            func replace(_ name: String, by other: String) throws {
                let draft = directory + "/draft"
                try? files.removeItem(atPath: draft)
                try files.copyItem(atPath: directory + "/" + other, toPath: draft)
                rename(draft, directory + "/" + name)
            }
            func isServed(_ name: String) async -> Bool {
                let answer = try? await TestCertificate.curl(
                    ["https://localhost:\(host.firestore)/"], trusting: directory + "/\(name).pem")
                return answer != nil
            }
            try files.copyItem(atPath: directory + "/cert.pem", toPath: directory + "/first.pem")
            #expect(await isServed("first"))
            #expect(await !isServed("next"))
            // The key stays that of the first certificate.
            try replace("cert.pem", by: "next.pem")
            try await Bound.wait("the pair is refused") {
                host.process.errors.contains("the new certificate can't be used")
            }
            #expect(host.process.errors.contains("cert-key.pem is not the key of the certificate"))
            #expect(await isServed("first"))
            try replace("cert-key.pem", by: "next-key.pem")
            try await Bound.wait("the pair is taken over") {
                host.process.errors.contains("the certificate has changed")
            }
            #expect(await isServed("next"))
            #expect(await !isServed("first"))
        }
    }

    @Test(arguments: [
        (
            #"{ "certificate": "none.pem", "key": "cert-key.pem" }"#,
            "listen.tls.certificate: the file none.pem does not exist"
        ),
        (#"{ "certificate": "cert.pem" }"#, #"listen.tls: "key" is missing"#),
        (#"{ "certificate": "cert-key.pem", "key": "cert-key.pem" }"#, "has no certificate in PEM"),
        (#"{ "certificate": "cert.pem", "key": "cert.pem" }"#, "has no private key in PEM"),
        (#"{ "certificate": "cert.pem", "key": "other-key.pem" }"#, "is not the key of the certificate"),
        (#"{ "certificate": "cert.pem", "key": "open-key.pem" }"#, "chmod 600"),
    ])
    func mistakesStopTheStart(_ tls: String, _ message: String) async throws {
        let directory = try HostDirectory()
        try await TestCertificate.write(to: directory.path)
        try await TestCertificate.write(to: directory.path, name: "other")
        try await TestCertificate.write(to: directory.path, name: "open")
        for (file, mode) in [("cert.pem", 0o600), ("open-key.pem", 0o604)] {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: directory.path + "/" + file)
        }
        try directory.configure(bundles: "", ports: HostDirectory.freePorts + #", "tls": \#(tls)"#)
        let process = try HostProcess(directory)
        #expect(try await process.end() == 1)
        #expect(process.errors.contains(message), "\(process.errors)")
        #expect(process.errors.contains("functions.json:4:"), "\(process.errors)")
    }
}
