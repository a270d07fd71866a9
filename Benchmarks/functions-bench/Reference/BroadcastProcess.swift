import Foundation
import NIOCore
import NIOPosix

/// The reference of a write that many sockets hear of: a bare server in its own process, which sends the same bytes to all
/// of its connections whenever one of them sends a byte.
struct BroadcastProcess: Sendable {
    let child: ChildProcess
    let port: Int

    static func start(_ bytes: ByteBuffer, in directory: URL) async throws -> BroadcastProcess {
        let file = directory.appendingPathComponent("broadcast")
        try Data(bytes.readableBytesView).write(to: file)
        let port = try await ChildProcess.freePort()
        let child = try ChildProcess(
            Bundle.main.executableURL?.path ?? CommandLine.arguments[0],
            ["reference-broadcast", "--port", "\(port)", "--message", file.path],
            log: directory.appendingPathComponent("broadcast.log"))
        do {
            return try await child.wait(for: "a connection to its port") {
                let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get()
                guard let channel else { return nil }
                try await channel.close()
                return BroadcastProcess(child: child, port: port)
            }
        } catch {
            await child.stop()
            throw error
        }
    }

    /// Serves until the process is terminated.
    static func serve(_ bytes: ByteBuffer, on port: Int) async throws {
        OwnProcess.raiseOpenFiles()
        let group = MultiThreadedEventLoopGroup.singleton
        let rooms = group.makeIterator().map { Room($0, bytes) }
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Member(of: rooms))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }

    /// The connections of one loop.
    private final class Room: Sendable {
        let loop: any EventLoop
        private let bytes: ByteBuffer
        private let channels: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>

        init(_ loop: any EventLoop, _ bytes: ByteBuffer) {
            self.loop = loop
            self.bytes = bytes
            channels = .makeBoxSendingValue([:], eventLoop: loop)
        }

        func add(_ channel: any Channel) { channels.value[ObjectIdentifier(channel)] = channel }

        func remove(_ channel: any Channel) { channels.value[ObjectIdentifier(channel)] = nil }

        func broadcast() {
            loop.execute {
                for channel in self.channels.value.values { channel.writeAndFlush(self.bytes, promise: nil) }
            }
        }
    }

    private final class Member: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let rooms: [Room]

        init(of rooms: [Room]) { self.rooms = rooms }

        /// A connection that has received a byte will receive all messages.
        func channelActive(context: ChannelHandlerContext) {
            room(context)?.add(context.channel)
            context.writeAndFlush(NIOAny(ByteBuffer(bytes: [0])), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { room(context)?.remove(context.channel) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { for room in rooms { room.broadcast() } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func room(_ context: ChannelHandlerContext) -> Room? {
            rooms.first { $0.loop === context.eventLoop }
        }
    }
}
