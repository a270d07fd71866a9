import HostTesting
import Logging
import NIOCore
import NIOEmbedded
import NIOSSL
import TestSupport
@testable import TransportSecurity
import Testing

@Suite struct TLSPortsTests {
    private let made: CertificateFiles
    private let clock = ManualClock()
    private let log = LogLines()

    init() throws { made = try CertificateFiles() }

    private func ports(handshake: TimeAmount = .hours(24)) throws -> TLSPorts {
        try TLSPorts(
            made.files, handshake: handshake, now: { CertificateFiles.now }, clock: clock, logger: log.logger)
    }

    @Test func theHandshakeTellsTheProtocol() async throws {
        let ports = try ports()
        #expect(try await TLSPair(ports, .http2AndHTTP1).negotiated == "h2")
        #expect(try await TLSPair(ports, .http2AndHTTP1, offered: ["http/1.1"]).negotiated == "http/1.1")
        #expect(try await TLSPair(ports, .http1).negotiated == "http/1.1")
        let other = try await TLSPair(ports, .http1, offered: [])
        #expect(other.negotiated == nil)
        #expect(other.names == ["first.test", "*.first.test"])
        #expect(try await other.send("hello") == "hello")
    }

    @Test func oldVersionsAreRefused() async throws {
        let ports = try ports()
        #expect(try await TLSPair(ports, .http1, version: .tlsv12).negotiated == "http/1.1")
        await #expect(throws: (any Error).self) { try await TLSPair(ports, .http1, version: .tlsv11) }
    }

    /// The loop has looked at the files once more when it sleeps again.
    private func look(_ times: Int) async {
        for _ in 0..<times {
            await clock.sleepers()
            clock.advance(by: .seconds(1))
        }
        await clock.sleepers()
    }

    @Test func changedFilesServeNewConnections() async throws {
        let ports = try ports()
        let running = Task { try await ports.run() }
        await look(2)
        let connection = try await TLSPair(ports, .http1)
        try made.write(name: "second")
        await look(1)
        // What has just changed may be half of a pair.
        #expect(try await TLSPair(ports, .http1).names.first == "first.test")
        await look(1)
        #expect(try await TLSPair(ports, .http1).names.first == "second.test")
        #expect(try await connection.send("still here") == "still here")
        #expect(log.all == ["the certificate has changed tls.certificate=\(made.files.certificate)"])
        running.cancel()
        try await running.value
    }

    @Test func aBadPairLeavesTheOneBefore() async throws {
        let ports = try ports()
        let running = Task { try await ports.run() }
        await look(1)
        try made.write(name: "second", key: false)
        await look(4)
        #expect(try await TLSPair(ports, .http1).names.first == "first.test")
        #expect(
            log.all == [
                "the new certificate can't be used; the one before is used "
                    + "error=\(made.files.key) is not the key of the certificate \(made.files.certificate)"
            ])
        try made.write(name: "third")
        await look(2)
        #expect(try await TLSPair(ports, .http1).names.first == "third.test")
        running.cancel()
        try await running.value
    }

    /// Its content is the same after that.
    @Test func aKeyThatIsClosedToOthersIsLoaded() async throws {
        let ports = try ports()
        let running = Task { try await ports.run() }
        await look(1)
        try made.write(name: "second", keyMode: 0o644)
        await look(4)
        #expect(try await TLSPair(ports, .http1).names.first == "first.test")
        #expect(log.all.count == 1 && log.all.first?.contains("run: chmod 600 \(made.files.key)") == true)
        try made.setKeyMode(0o600)
        await look(2)
        #expect(try await TLSPair(ports, .http1).names.first == "second.test")
        #expect(log.all.count == 2)
        running.cancel()
        try await running.value
    }

    @Test(arguments: [
        (-1, "the certificate has expired: clients refuse it"), (3, "the certificate expires soon"), (8, nil),
    ])
    func endsOfCertificatesAreWarnedOf(_ days: Int, _ message: String?) throws {
        try made.write(name: "short", days: days)
        _ = try ports()
        #expect(log.all.count == (message == nil ? 0 : 1))
        if let message { #expect(log.all.first?.hasPrefix(message) == true) }
    }

    // MARK: Clients without a handshake

    private func server(_ ports: TLSPorts) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try ports.secure(channel, .http1)
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        return channel
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\0"])
    func plainRequestsAreAnswered(_ text: String) throws {
        let channel = try server(try ports())
        try channel.writeInbound(ByteBuffer(string: text))
        let answer = try #require(try channel.readOutbound(as: ByteBuffer.self))
        #expect(String(buffer: answer).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(String(buffer: answer).hasSuffix("\r\n\r\nThis port speaks https.\n"))
        #expect(!channel.isActive)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// Whether it has sent nothing, or the beginning of a handshake.
    @Test(arguments: [[], [22, 3, 1, 2, 0]] as [[UInt8]])
    func handshakesHaveADeadline(_ bytes: [UInt8]) throws {
        let channel = try server(try ports(handshake: .seconds(10)))
        if !bytes.isEmpty { try channel.writeInbound(ByteBuffer(bytes: bytes)) }
        channel.embeddedEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    @Test func aHandshakeInTimeEndsItsDeadline() async throws {
        let pair = try await TLSPair(try ports(), .http1)
        // What comes back has passed the server's handlers after the handshake.
        #expect(try await pair.send("hello") == "hello")
        let server = pair.server
        _ = try await server.eventLoop.submit {
            #expect(throws: ChannelPipelineError.notFound) {
                try server.pipeline.syncOperations.handler(type: HandshakeDeadline.self)
            }
        }.get()
    }

    @Test func brokenHandshakesEndTheConnection() throws {
        let channel = try server(try ports())
        _ = try? channel.writeInbound(ByteBuffer(bytes: [22, 3, 1, 0, 5, 1, 2, 3, 4, 5]))
        #expect(!channel.isActive)
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }
}
