import NIOCore
import NIOPosix

/// A server that sends whatever bytes a test writes, also such as no HTTP library would.
package struct ScriptedServer {
    /// One connection: what the client sent, and what is sent to it.
    package struct Connection {
        private var inbound: AsyncStream<ByteBuffer>.AsyncIterator
        private let channel: any Channel

        fileprivate init(_ client: Client) {
            inbound = client.inbound.makeAsyncIterator()
            channel = client.channel
        }

        /// The bytes up to the end of the next request's head, and its body if that has a length; empty at the end.
        package mutating func request() async throws -> String {
            var text = ""
            while !Self.isComplete(text), let part = await inbound.next() { text += String(buffer: part) }
            return text
        }

        private static func isComplete(_ text: String) -> Bool {
            guard let head = text.firstRange(of: "\r\n\r\n") else { return false }
            let fields = text[..<head.lowerBound].lowercased().split(separator: "\r\n")
            let length = fields.first { $0.hasPrefix("content-length:") }?.split(separator: ":").last
            return text[head.upperBound...].utf8.count >= length.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        }

        /// The next bytes; empty at the end.
        package mutating func part() async throws -> String {
            await inbound.next().map { String(buffer: $0) } ?? ""
        }

        package func send(_ text: String) async throws {
            let channel = channel
            try await withTaskCancellationHandler {
                try await channel.writeAndFlush(ByteBuffer(string: text)).get()
            } onCancel: {
                // The client may have stopped reading.
                channel.close(promise: nil)
            }
        }

        /// Returns once the client has closed the connection.
        package mutating func untilClosed() async {
            while let part = await inbound.next() { _ = part }
        }
    }

    /// A connection that is accepted. Unlike NIO's async channels, it may be dropped: a client may open a connection
    /// just before the test ends.
    fileprivate struct Client: Sendable {
        let channel: any Channel
        let inbound: AsyncStream<ByteBuffer>
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let bytes: AsyncStream<ByteBuffer>.Continuation

        init(_ bytes: AsyncStream<ByteBuffer>.Continuation) { self.bytes = bytes }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { bytes.yield(unwrapInboundIn(data)) }

        func channelInactive(context: ChannelHandlerContext) { bytes.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    package static let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"

    /// Serves each connection with a script, which closes it by returning, while a body runs with the address.
    package static func run(
        _ script: @escaping @Sendable (inout Connection) async throws -> Void,
        body: @Sendable (_ address: String) async throws -> Void
    ) async throws {
        let (clients, accepted) = AsyncStream.makeStream(of: Client.self)
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (inbound, bytes) = AsyncStream.makeStream(of: ByteBuffer.self)
                    try channel.pipeline.syncOperations.addHandler(Reader(bytes))
                    accepted.yield(Client(channel: channel, inbound: inbound))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = server.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        defer { server.close(promise: nil) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await withDiscardingTaskGroup { connections in
                    for await client in clients {
                        connections.addTask {
                            var connection = Connection(client)
                            // A client that leaves early fails no test.
                            try? await script(&connection)
                            try? await client.channel.close()
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            try await body("http://127.0.0.1:\(port)/path?token=secret")
        }
    }
}
