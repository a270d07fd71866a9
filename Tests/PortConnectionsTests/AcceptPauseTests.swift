import Foundation
import NIOCore
import NIOPosix
import PortConnections
import Synchronization
import Testing

@Suite struct AcceptPauseTests {
    /// Notes the errors that reach the handlers behind.
    private final class ErrorNotes: ChannelInboundHandler {
        typealias InboundIn = any Channel

        private let note: @Sendable (any Error) -> Void

        init(note: @escaping @Sendable (any Error) -> Void) { self.note = note }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { note(error) }
    }

    @Test func aServerWithoutFilesRestsAndAcceptsAgain() async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let reports = Mutex<[Int32]>([])
        let passedOn = Mutex<[Int32?]>([])
        let (accepted, accept) = AsyncStream.makeStream(of: Void.self)
        let server = try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pause = AcceptPause { error in reports.withLock { $0.append(error.errnoCode) } }
                    try channel.pipeline.syncOperations.addHandler(pause, position: .first)
                    let notes = ErrorNotes { error in passedOn.withLock { $0.append((error as? IOError)?.errnoCode) } }
                    try channel.pipeline.syncOperations.addHandler(notes)
                }
            }
            .childChannelInitializer { channel in
                accept.yield()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let failure = IOError(errnoCode: EMFILE, reason: "accept")
        let reads = try await server.eventLoop.submit {
            // As macOS reports a client that has left meanwhile.
            server.pipeline.syncOperations.fireErrorCaught(IOError(errnoCode: ECONNABORTED, reason: "accept"))
            let before = try server.syncOptions?.getOption(.autoRead)
            server.pipeline.syncOperations.fireErrorCaught(failure)
            server.pipeline.syncOperations.fireErrorCaught(failure)
            return [before, try server.syncOptions?.getOption(.autoRead)]
        }.get()
        #expect(reads == [true, false])
        let reported = reports.withLock { $0 }
        #expect(reported == [EMFILE])
        // NIO's own handler would rest for longer.
        let noted = passedOn.withLock { $0 }
        #expect(noted.isEmpty)
        let address = try #require(server.localAddress)
        let client = try await ClientBootstrap(group: group).connect(to: address).get()
        for await _ in accepted { break }
        try await client.close()
        try await server.close()
    }
}
