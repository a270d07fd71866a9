import NIOCore
import NIOPosix

/// A server that sends whatever bytes a test writes, also such as no HTTP library would.
package struct ScriptedServer {
    /// One connection: what the client sent, and what is sent to it.
    package struct Connection {
        private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

        fileprivate init(
            _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
            _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        ) {
            self.inbound = inbound.makeAsyncIterator()
            self.outbound = outbound
        }

        /// The bytes up to the end of the next request's head, and its body if that has a length; empty at the end.
        package mutating func request() async throws -> String {
            var text = ""
            while !Self.isComplete(text), let part = try await inbound.next() { text += String(buffer: part) }
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
            try await inbound.next().map { String(buffer: $0) } ?? ""
        }

        package func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

        /// Returns once the client has closed the connection.
        package mutating func untilClosed() async {
            while let part = try? await inbound.next() { _ = part }
        }
    }

    package static let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"

    /// Serves each connection with a script, which closes it by returning, while a body runs with the address.
    package static func run(
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
