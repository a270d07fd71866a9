import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization

/// A WebSocket of the Realtime Database, as the SDKs use it: numbered requests, frames in pieces, and a view of each listen.
final class DatabaseSocket: Sendable {
    /// The connection ended before there was an answer. Whether the host did what was asked is unknown.
    struct Closed: Error {}

    struct Answer: Sendable {
        var status: String
        var data: JSON

        var isOK: Bool { status == "ok" }
    }

    /// What a client sees of a place.
    struct View: Sendable {
        let path: String
        var value: JSON
        /// How many changes were received, including what the listen began with.
        var pushes = 0
    }

    /// The id of the session, by which a later connection continues it.
    let session: String
    /// The address that the database names for later connections.
    let host: String
    private let channel: any Channel
    private let receiver: DatabaseReceiver

    private init(_ channel: any Channel, _ receiver: DatabaseReceiver, _ hello: JSON) {
        (self.channel, self.receiver) = (channel, receiver)
        session = hello["s"]?.text ?? ""
        host = hello["h"]?.text ?? ""
    }

    /// Connects, and returns once the database has greeted.
    ///
    /// - Parameters:
    ///   - former: the session that this one continues.
    ///   - certificate: the file of the certificate that the port must have; nil for a port without TLS.
    static func open(
        port: Int, database: String = "demo-shop-default-rtdb", continuing former: String? = nil,
        trusting certificate: String? = nil
    ) async throws -> DatabaseSocket {
        let receiver = DatabaseReceiver()
        let secure = try certificate.map { file in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            return try NIOSSLContext(configuration: configuration)
        }
        let upgrade: EventLoopFuture<(any Channel)?> = try await ClientBootstrap(
            group: MultiThreadedEventLoopGroup.singleton
        ).connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let secure {
                    try pipeline.addHandler(NIOSSLClientHandler(context: secure, serverHostname: "localhost"))
                }
                let upgrader = NIOTypedWebSocketClientUpgrader<(any Channel)?>(maxFrameSize: 1 << 20) { channel, _ in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(receiver)
                        return channel
                    }
                }
                let continued = former.map { "&ls=\($0)" } ?? ""
                let head = HTTPRequestHead(
                    version: .http1_1, method: .GET, uri: "/.ws?v=5&ns=\(database)\(continued)",
                    headers: ["Host": "localhost:\(port)"])
                let configuration = NIOTypedHTTPClientUpgradeConfiguration(
                    upgradeRequestHead: head, upgraders: [upgrader],
                    notUpgradingCompletionHandler: { $0.eventLoop.makeSucceededFuture(nil) })
                var setup = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
                // The greeting may come together with the answer to the upgrade.
                setup.leftOverBytesStrategy = .forwardBytes
                return try pipeline.configureUpgradableHTTPClientPipeline(configuration: setup)
            }
        }
        guard let channel = try await upgrade.get() else { throw Closed() }
        // The connection may have ended before the receiver was added to it.
        channel.closeFuture.whenComplete { _ in receiver.end() }
        return DatabaseSocket(channel, receiver, try await receiver.hello())
    }

    var isOpen: Bool { channel.isActive }

    /// Sends a request and waits for its answer.
    ///
    /// - Parameter body: JSON.
    /// - Throws: ``Closed``.
    func request(_ action: String, _ body: String) async throws -> Answer {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard let number = receiver.expect(continuation) else { return continuation.resume(throwing: Closed()) }
                send(#"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#)
            }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Listens to a place, of which the client may know what it was.
    ///
    /// - Parameters:
    ///   - query: JSON, and the tag that the pushes for it carry; nil for all that is there.
    ///   - known: what was seen of it before.
    func listen(
        to path: String, query: (json: String, tag: Int)? = nil, knowing known: JSON = .null
    ) async throws -> Answer {
        receiver.addView(View(path: path, value: known), tag: query?.tag)
        let queried = query.map { #","q":\#($0.json),"t":\#($0.tag)"# } ?? ""
        return try await request("q", #"{"p":"/\#(path)","h":"\#(known.databaseHash)"\#(queried)}"#)
    }

    /// What is seen by the listen with a tag, or by the one without.
    func view(tag: Int? = nil) -> View? { receiver.view(tag: tag) }

    /// Ends the connection without a word, as a client does whose network is gone.
    func drop() async { if isOpen { try? await channel.close() } }

    /// Closes the WebSocket.
    func close() async {
        guard isOpen else { return }
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: ByteBuffer())
        try? await channel.writeAndFlush(frame)
        await drop()
    }

    private static let longestFrame = 16_384

    private func send(_ text: String) {
        var pieces = [""]
        var units = 0
        for scalar in text.unicodeScalars {
            units += UTF16.width(scalar)
            if units > Self.longestFrame {
                pieces.append("")
                units = UTF16.width(scalar)
            }
            pieces[pieces.count - 1].unicodeScalars.append(scalar)
        }
        for piece in pieces.count == 1 ? pieces : ["\(pieces.count)"] + pieces {
            let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: piece))
            channel.write(frame, promise: nil)
        }
        channel.flush()
    }
}
