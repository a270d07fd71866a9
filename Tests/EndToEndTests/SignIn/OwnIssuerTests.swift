import Foundation
import TestSupport
import Testing

/// A production host that issues its own tokens, over TLS.
@Suite(
    .endsHangs, .enabled(if: TestCertificate.isInstalled, "openssl or curl is not installed"),
    .enabled(if: ClientScript.isInstalled, "google-auth is not installed: .ci/oracles"))
struct OwnIssuerTests {
    private static let rules = """
        rules_version = '2';
        service cloud.firestore { match /databases/{d}/documents {
          match /people/{uid} { allow read: if request.auth.uid == uid; }
        } }
        """

    @Test func tokensAreVerifiedByOthersAndOutliveRotations() async throws {
        try await ProductionHost.serving(
            listen: #""tls": { "certificate": "cert.pem", "key": "cert-key.pem" }"#,
            extra:
                #", "rules": "own.rules", "auth": { "issuer": "own", "publicAddress": "https://auth.example.com", "passwords": { "hashMiB": 1 } }"#
        ) { directory in
            try await TestCertificate.write(to: directory.path)
            try directory.write(Self.rules, to: "own.rules")
        } _: { host in
            let directory = host.directory
            let auth = try #require(host.auth)
            let client = try ClientScript(
                "own_issuer.py",
                ["\(auth)", "\(host.firestore)", ProductionHost.project, directory.path + "/cert.pem"],
                environment: ["REQUESTS_CA_BUNDLE": directory.path + "/cert.pem"], in: directory.path)
            let ada = try await client.ask("signUp ada")
            #expect(ada.count == 28, "\(ada)")
            #expect(try await client.ask("signUp ada") == "EMAIL_EXISTS")
            #expect(try await client.ask("verify ada") == ada)
            // The document doesn't exist; who may not read it would be refused.
            #expect(try await client.ask("read ada") == "404")
            #expect(try await client.ask("keys ada") == "2")
            let first = try await client.ask("key ada")
            #expect(try await client.ask("keep ada") == "kept")

            // Others may not know a key of now.
            let refused = try await DataCommandRun.run(["rotate"], in: directory, command: "keys")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("the next key is too young"), "\(refused.errors)")
            let rotated = try await DataCommandRun.run(["rotate", "--early"], in: directory, command: "keys")
            #expect(rotated.status == 0, "\(rotated.errors)")
            #expect(try await client.ask("keys ada") == "3")
            #expect(try await client.ask("refresh ada") == "200")
            let second = try await client.ask("key ada")
            #expect(second != first)
            #expect(rotated.output.contains(second))
            for name in ["ada", "kept"] {
                #expect(try await client.ask("verify \(name)") == ada)
                #expect(try await client.ask("read \(name)") == "404")
            }
            #expect(try await client.ask("signInWithPassword ada") == ada)
            #expect(try await client.ask("key ada") == second)

            #expect(try await client.ask("unsigned ada") == "unsigned")
            #expect(try await client.ask("read ada") == "401")
            #expect(try await client.ask("verify ada").hasPrefix("refused"))
            try await client.succeed()
        }
    }

    /// A host that signs nothing has nothing to rotate.
    @Test func whoIssuesNoTokensRotatesNoKeys() async throws {
        try await ProductionHost.serving { host in
            let answer = try await DataCommandRun.run(["rotate"], in: host.directory, command: "keys")
            #expect(answer.status == 1)
            #expect(answer.errors.contains("auth.issuer"), "\(answer.errors)")
        }
    }
}
