import NIOCore
import NIOPosix

/// A server that sends whatever bytes a test writes, also such as no HTTP library would.
struct ScriptedServer {
    /// One connection: what the client sent, and what is sent to it.
    struct Connection {
        private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

        init(
            _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
            _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        ) {
            self.inbound = inbound.makeAsyncIterator()
            self.outbound = outbound
        }

        /// The bytes up to the end of the next request's head, and what came with them.
        mutating func request() async throws -> String {
            var text = ""
            while !text.contains("\r\n\r\n"), let part = try await inbound.next() { text += String(buffer: part) }
            return text
        }

        func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

        /// Returns once the client has closed the connection.
        mutating func untilClosed() async {
            while let part = try? await inbound.next() { _ = part }
        }
    }

    static let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"

    /// Serves each connection with a script, which closes it by returning, while a body runs with the address.
    static func run(
        _ script: @escaping @Sendable (inout Connection) async throws -> Void,
        body: @Sendable (_ address: String) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        guard let port = server.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { clients in
                    try await withThrowingDiscardingTaskGroup { connections in
                        for try await client in clients {
                            connections.addTask {
                                // A client that leaves early fails no test.
                                try? await client.executeThenClose { inbound, outbound in
                                    var connection = Connection(inbound, outbound)
                                    try await script(&connection)
                                }
                            }
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            try await body("http://127.0.0.1:\(port)/path?token=secret")
        }
    }
}
