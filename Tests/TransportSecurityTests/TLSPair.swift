import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization
@testable import TransportSecurity

/// A client's connection to a server with a certificate, which sends back what it receives.
final class TLSPair: Sendable {
    /// The server's end.
    let server: any Channel
    /// The protocol that the handshake has chosen.
    let negotiated: String?
    /// Of the certificate that the server has presented.
    let names: [String]
    private let client: any Channel
    private let received: Received

    /// - Parameter offered: the protocols that the client offers.
    /// - Throws: if the handshake fails.
    init(
        _ ports: TLSPorts, _ protocols: TLSProtocols, offered: [String] = ["h2", "http/1.1"],
        version: TLSVersion = .tlsv13
    ) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        // By their ports: a client of another test may try a port that it had, and come before ours.
        let accepted = Accepted()
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try ports.secure(channel, protocols)
                    try channel.pipeline.syncOperations.addHandler(Echo())
                    accepted.add(channel)
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = offered
        configuration.minimumTLSVersion = .tlsv1
        configuration.certificateVerification = .noHostnameVerification
        configuration.maximumTLSVersion = version
        let context = try NIOSSLContext(configuration: configuration)
        let received = Received(group.next().makePromise(of: String?.self))
        client = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(
                        context: context, serverHostname: nil,
                        customVerificationCallback: { chain, promise in
                            received.keep(chain)
                            promise.succeed(.certificateVerified)
                        })
                    try channel.pipeline.syncOperations.addHandlers([tls, Watcher(received)])
                }
            }.connect(to: listener.localAddress ?? SocketAddress(ipAddress: "127.0.0.1", port: 0)).get()
        self.received = received
        do { negotiated = try await received.handshake.futureResult.get() } catch {
            try await listener.close()
            throw error
        }
        names = received.names
        guard let server = accepted[client.localAddress?.port] else { throw ChannelError.unknownLocalAddress }
        self.server = server
        // What isn't accepted yet would be reset.
        try await listener.close()
    }

    deinit { client.close(promise: nil) }

    /// What the client receives of a text that it sends.
    func send(_ text: String) async throws -> String {
        try await client.writeAndFlush(ByteBuffer(string: text))
        var heard = ""
        while heard.utf8.count < text.utf8.count, let more = await received.next() { heard += more }
        return heard
    }

    private final class Accepted: Sendable {
        private let channels = Mutex<[Int: any Channel]>([:])

        func add(_ channel: any Channel) {
            guard let port = channel.remoteAddress?.port else { return }
            channels.withLock { $0[port] = channel }
        }

        subscript(port: Int?) -> (any Channel)? { port.flatMap { port in channels.withLock { $0[port] } } }
    }

    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(unwrapInboundIn(data)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private final class Received: Sendable {
        let handshake: EventLoopPromise<String?>
        private let chain = Mutex<[String]>([])
        private let texts = AsyncStream.makeStream(of: String.self)

        init(_ handshake: EventLoopPromise<String?>) { self.handshake = handshake }

        var names: [String] { chain.withLock { $0 } }

        func keep(_ certificates: [NIOSSLCertificate]) {
            let names = certificates.first?._subjectAlternativeNames().map {
                String(decoding: $0.contents, as: UTF8.self)
            }
            chain.withLock { $0 = names ?? [] }
        }

        func add(_ text: String) { texts.continuation.yield(text) }

        func end() {
            handshake.fail(ChannelError.eof)
            texts.continuation.finish()
        }

        func next() async -> String? { await texts.stream.first { _ in true } }
    }

    private final class Watcher: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let received: Received

        init(_ received: Received) { self.received = received }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
                received.handshake.succeed(negotiated)
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received.add(String(buffer: unwrapInboundIn(data)))
        }

        func channelInactive(context: ChannelHandlerContext) { received.end() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            received.handshake.fail(error)
            context.close(promise: nil)
        }
    }
}
