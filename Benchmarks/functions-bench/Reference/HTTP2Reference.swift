import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix

/// The reference of gRPC: a bare HTTP/2 server that answers every call with the same bytes.
struct HTTP2Reference {
    var port: Int
    /// The body of each answer: a message with gRPC's prefix.
    var answer: ByteBuffer

    /// Serves until the process is terminated.
    func run() async throws {
        let answer = answer
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = NIOHTTP2Handler(
                        mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: .init(),
                        streamConfiguration: .init()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandler(Answerer(answer))
                        }
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        private static let headers = HPACKHeaders([(":status", "200"), ("content-type", "application/grpc")])
        private static let trailers = HPACKHeaders([("grpc-status", "0")])

        private let answer: ByteBuffer

        init(_ answer: ByteBuffer) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .data(let data) = unwrapInboundIn(data), data.endStream else { return }
            context.write(wrapOutboundOut(.headers(.init(headers: Self.headers))), promise: nil)
            context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(answer)))), promise: nil)
            context.writeAndFlush(
                wrapOutboundOut(.headers(.init(headers: Self.trailers, endStream: true))), promise: nil)
        }
    }
}

/// The reference in a process of its own.
struct HTTP2ReferenceProcess: Sendable {
    let child: ChildProcess
    let port: Int

    static func start(answering answer: ByteBuffer, in directory: URL) async throws -> HTTP2ReferenceProcess {
        let program = Bundle.main.executableURL?.path ?? CommandLine.arguments[0]
        return try await start(program, answer, in: directory) { ["reference-http2", "--port", $0, "--answer", $1] }
    }

    /// The same with the server of grpc-swift, which is a package of its own.
    ///
    /// - Returns: nil if it isn't built.
    static func grpcSwift(answering answer: ByteBuffer, in directory: URL) async throws -> HTTP2ReferenceProcess? {
        let program = "Benchmarks/grpc-echo/.build/release/grpc-echo"
        guard FileManager.default.isExecutableFile(atPath: program) else { return nil }
        return try await start(program, answer, in: directory) { [$0, $1] }
    }

    private static func start(
        _ program: String, _ answer: ByteBuffer, in directory: URL,
        arguments: (_ port: String, _ file: String) -> [String]
    ) async throws -> HTTP2ReferenceProcess {
        let file = directory.appendingPathComponent("answer")
        try Data(answer.readableBytesView).write(to: file)
        let port = try await ChildProcess.freePort()
        let child = try ChildProcess(
            program, arguments("\(port)", file.path), log: directory.appendingPathComponent("reference-\(port).log"))
        do {
            return try await child.wait(for: "a connection to its port") {
                let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connect(host: "127.0.0.1", port: port).get()
                guard let channel else { return nil }
                try await channel.close()
                return HTTP2ReferenceProcess(child: child, port: port)
            }
        } catch {
            await child.stop()
            throw error
        }
    }
}
