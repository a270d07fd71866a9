import Crypto
import Foundation
@testable import MailTransfer
import NIOCore
import NIOSSL
import SwiftASN1
import TestSupport
import Testing
import TextFormats
import X509

/// Mails against a real server on this machine.
@Suite(.endsHangs) struct SMTPServerTests {
    private static func send(_ server: SMTPServer, to: String = "ada@example.com", text: String = "Hi\n") async throws
        -> TransferOutcome
    {
        let from = try #require(MailAddress("noreply@shop.example.com", name: "Shop"))
        let to = try #require(MailAddress(to))
        // A busy machine takes as long as it takes.
        var server = server
        (server.connectTime, server.wholeTime) = (36_000, 36_000)
        let mail = MailMessage(id: "0a1b", from: from, to: to, subject: "Hello", text: text, date: 0)
        return await server.send(mail.bytes, from: from, to: to)
    }

    private static func plain(_ server: MailServer) -> SMTPServer {
        SMTPServer(host: "127.0.0.1", port: server.port, encryption: .none)
    }

    @Test func aServerGetsTheWholeMail() async throws {
        try await MailServer.run { server in
            // A dot alone on a line would end the message.
            #expect(try await Self.send(Self.plain(server), text: "one\n.\n..two\nend") == .accepted)
            let mail = try #require(server.received.first)
            #expect(mail.from == "noreply@shop.example.com")
            #expect(mail.to == ["ada@example.com"])
            #expect(mail.message.hasSuffix("\r\n\r\none\r\n.\r\n..two\r\nend\r\n"))
            #expect(!mail.isEncrypted)
        }
    }

    /// As at a limit of the processes of a user or a container: the message stays, and its place in the queue is free again.
    @Test func aMailWhoseThreadTheSystemRefusesIsRetried() async throws {
        try await MailServer.run { server in
            var client = Self.plain(server)
            client.stackSize = 1 << 50
            let outcome = try await Self.send(client)
            guard case .failed(let reason, mayHaveArrived: false) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(reason.hasPrefix("the thread mail can't be started: "))
            #expect(server.received.isEmpty)
        }
    }

    @Test func aLoginIsSent() async throws {
        var behaviour = MailServer.Behaviour()
        behaviour.login = "shop secret"
        try await MailServer.run(behaviour) { server in
            var client = Self.plain(server)
            guard case .failed(_, mayHaveArrived: false) = try await Self.send(client) else {
                Issue.record("a mail without a login was sent")
                return
            }
            client.login = .init(user: "shop", password: "wrong")
            let wrong = try await Self.send(client)
            guard case .failed(let reason, mayHaveArrived: false) = wrong else {
                Issue.record("\(wrong)")
                return
            }
            #expect(!reason.contains("wrong"))
            client.login = .init(user: "shop", password: "secret")
            #expect(try await Self.send(client) == .accepted)
            #expect(server.received.map(\.login) == ["shop secret"])
        }
    }

    @Test func repliesDecideWhetherAMailIsRetried() async throws {
        var behaviour = MailServer.Behaviour()
        behaviour.refused = [
            "gone@example.com": "550 5.1.1 unknown", "moved@example.com": "550 unknown",
            "full@example.com": "452 4.2.2 full",
            // Postfix says it of the sender or this host, once it knows the receiver.
            "far@example.com": "554 5.7.1 Relay access denied",
        ]
        behaviour.replies = ["451 4.3.0 later", "554 5.6.0 spam", ""]
        try await MailServer.run(behaviour) { server throws in
            func kind(_ to: String) async throws -> String {
                switch try await Self.send(Self.plain(server), to: to) {
                case .accepted: "accepted"
                case .refused: "refused"
                case .failed(_, let mayHaveArrived): mayHaveArrived ? "lost" : "failed"
                }
            }
            #expect(try await kind("gone@example.com") == "refused")
            #expect(try await kind("moved@example.com") == "refused")
            #expect(try await kind("full@example.com") == "failed")
            #expect(try await kind("far@example.com") == "failed")
            #expect(try await kind("ada@example.com") == "failed")
            #expect(try await kind("ada@example.com") == "refused")
            #expect(try await kind("ada@example.com") == "lost")
            #expect(try await kind("ada@example.com") == "accepted")
        }
    }

    @Test func aServerThatIsntThereHasTakenNothing() async throws {
        let outcome = try await Self.send(SMTPServer(host: "127.0.0.1", port: 1, encryption: .none))
        guard case .failed(_, mayHaveArrived: false) = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }

    @Test func aCancelledTransferEndsBeforeItHasSentAnything() async throws {
        let (greeted, continuation) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { connection in
            // Never greets.
            continuation.yield()
            await connection.untilClosed()
        } body: { address in
            let port = try #require(URL(string: address)?.port)
            let task = Task {
                try await Self.send(SMTPServer(host: "127.0.0.1", port: port, encryption: .none))
            }
            for await _ in greeted { break }
            task.cancel()
            #expect(try await task.value == .failed(reason: "the host stops", mayHaveArrived: false))
        }
    }

    // MARK: TLS

    @Test(arguments: [false, true]) func aMailIsEncrypted(isImplicit: Bool) async throws {
        let certificate = try MailCertificate()
        var behaviour = MailServer.Behaviour()
        behaviour.login = "shop secret"
        behaviour.tls = certificate.handler
        behaviour.isImplicit = isImplicit
        try await MailServer.run(behaviour) { server in
            var client = SMTPServer(
                host: "localhost", port: server.port, encryption: isImplicit ? .implicit : .startTLS,
                login: .init(user: "shop", password: "secret"), authorities: certificate.file)
            #expect(try await Self.send(client) == .accepted)
            #expect(server.received.map(\.isEncrypted) == [true])
            // The system trusts no such certificate.
            client.authorities = nil
            guard case .failed(_, mayHaveArrived: false) = try await Self.send(client) else {
                Issue.record("an unknown certificate was trusted")
                return
            }
            #expect(server.received.count == 1)
        }
    }

    @Test func aServerWithoutTLSGetsNothingIfItIsRequired() async throws {
        try await MailServer.run { server in
            let client = SMTPServer(host: "127.0.0.1", port: server.port, encryption: .startTLS)
            guard case .failed(_, mayHaveArrived: false) = try await Self.send(client) else {
                Issue.record("it was sent in the clear")
                return
            }
            #expect(server.received.isEmpty)
        }
    }
}

/// A certificate for `localhost` that has signed itself.
private struct MailCertificate {
    private let directory: TemporaryDirectory
    let file: String
    let handler: @Sendable () throws -> any ChannelHandler

    init() throws {
        directory = try TemporaryDirectory()
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName("localhost") }
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey),
            notValidBefore: Date.now - 86_400, notValidAfter: Date.now + 86_400, issuer: subject, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try .init { SubjectAlternativeNames([.dnsName("localhost")]) }, issuerPrivateKey: .init(key))
        let text = try certificate.serializeAsPEM().pemString
        file = try directory.write("cert.pem", text)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(.init(bytes: Array(text.utf8), format: .pem))],
                privateKey: .privateKey(.init(bytes: Array(key.pemRepresentation.utf8), format: .pem))))
        handler = { [directory] in
            _ = directory
            return NIOSSLServerHandler(context: context)
        }
    }
}
