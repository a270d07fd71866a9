import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import TransportSecurity

@Suite(.endsHangs) struct RefusedConnectionTests {
    private struct Refusal: Error {}

    private struct Plain: ServerChildChannel {
        struct Value: ServerChildChannelValue { let channel: any Channel }

        func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
            channel.eventLoop.makeSucceededFuture(Value(channel: channel))
        }

        func handle(value: Value, logger: Logger) async { try? await value.channel.closeFuture.get() }
    }

    /// Otherwise it would be open for ever, and count among those that there may be.
    @Test func aConnectionThatIsNotAdmittedIsClosed() async throws {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = Server(
            childChannelSetup: TLSChannel(Plain(), nil, .http1) { _ in throw Refusal() },
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in continuation.yield(channel.localAddress?.port ?? 0) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            for await port in ports.prefix(1) {
                let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get()
                // The test would wait for ever.
                try await client.closeFuture.get()
            }
            group.cancelAll()
        }
    }
}
