import NIOCore
import NIOEmbedded
import NIOPosix
import PortConnections
import Testing

@Suite struct ChannelUnsentTests {
    @Test func whatIsWrittenIsUnsentUntilItIsFlushed() throws {
        let channel = EmbeddedChannel()
        channel.write(ByteBuffer(string: "answer"), promise: nil)
        #expect(channel.unsentBytes == 6)
        channel.flush()
        #expect(channel.unsentBytes == 0)
        _ = try channel.finish()
    }

    #if os(Linux)
        @Test func theSystemTakesLittleMoreThanItSends() async throws {
            let group = MultiThreadedEventLoopGroup.singleton
            let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
            let address = try #require(server.localAddress)
            let client = try await ClientBootstrap(group: group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { channel.boundUnsentInSystem() }
                }
                .connect(to: address).get()
            let option = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 25))
            #expect(try await client.getOption(option).get() == 131_072)
            try await client.close()
            try await server.close()
        }

        @Test func theSystemEndsAConnectionWhoseOtherEndTakesNothing() async throws {
            let group = MultiThreadedEventLoopGroup.singleton
            let server = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
            let address = try #require(server.localAddress)
            let client = try await ClientBootstrap(group: group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { channel.endWhenUnacknowledged(for: .seconds(90)) }
                }
                .connect(to: address).get()
            let option = ChannelOptions.Types.SocketOption(level: .tcp, name: NIOBSDSocket.Option(rawValue: 18))
            #expect(try await client.getOption(option).get() == 90_000)
            try await client.close()
            try await server.close()
        }
    #endif
}
