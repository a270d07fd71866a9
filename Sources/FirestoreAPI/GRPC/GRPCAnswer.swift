import DocumentModel
import NIOCore
import NIOHPACK
import NIOHTTP2

/// What a call answers: messages, and then its status.
final class GRPCAnswer: Sendable {
    private let channel: any Channel
    private let loopBound: NIOLoopBoundBox<(hasHeaders: Bool, isEnded: Bool)>

    init(_ channel: any Channel) {
        self.channel = channel
        loopBound = NIOLoopBoundBox((false, false), eventLoop: channel.eventLoop)
    }

    var eventLoop: any EventLoop { channel.eventLoop }

    /// Whether the client takes what is sent.
    var isWritable: Bool { channel.isWritable }

    /// Sends framed messages.
    func send(_ messages: ByteBuffer) {
        onLoop { [self] in
            guard begin() else { return }
            write(.data(.init(data: .byteBuffer(messages))))
            channel.flush()
        }
    }

    /// Sends framed messages, and returns once they are on their way.
    func sendAndWait(_ message: ByteBuffer) async {
        try? await channel.eventLoop.flatSubmit { [self] in
            guard begin() else { return channel.eventLoop.makeSucceededVoidFuture() }
            return channel.writeAndFlush(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(message))))
        }.get()
    }

    /// What a client that reads nothing has to take the end of its call.
    private static let patience = TimeAmount.seconds(30)

    /// Ends the call; only the first end counts.
    ///
    /// - Parameter closes: whether the stream is closed once its client has taken the end: the client may not have ended it,
    ///   and it would count as open.
    func end(_ error: DocumentError? = nil, with message: ByteBuffer? = nil, closes: Bool = false) {
        onLoop { [self] in
            guard !loopBound.value.isEnded else { return }
            if error == nil || message != nil || loopBound.value.hasHeaders { _ = begin() }
            if let message { write(.data(.init(data: .byteBuffer(message)))) }
            let isFirst = !loopBound.value.hasHeaders
            loopBound.value.isEnded = true
            var trailers = HPACKHeaders.trailers(error)
            // Without messages, the status comes with the headers.
            if isFirst {
                var headers = HPACKHeaders.grpcResponse
                for (name, value, _) in trailers { headers.add(name: name, value: value) }
                trailers = headers
            }
            let end = channel.writeAndFlush(
                HTTP2Frame.FramePayload.headers(.init(headers: trailers, endStream: true)))
            guard closes else { return }
            let channel = channel
            let timeout = channel.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
            end.whenComplete { _ in
                timeout.cancel()
                // A plain close would reset the stream as cancelled, which some clients take for the call's status, although
                // it comes later (RFC 9113, section 8.1).
                channel.writeAndFlush(HTTP2Frame.FramePayload.rstStream(.noError)).whenComplete { _ in
                    channel.close(promise: nil)
                }
            }
        }
    }

    private func begin() -> Bool {
        guard !loopBound.value.isEnded else { return false }
        if !loopBound.value.hasHeaders {
            loopBound.value.hasHeaders = true
            write(.headers(.init(headers: .grpcResponse)))
        }
        return true
    }

    private func write(_ frame: HTTP2Frame.FramePayload) { channel.write(frame, promise: nil) }

    private func onLoop(_ body: @escaping @Sendable () -> Void) {
        if channel.eventLoop.inEventLoop { body() } else { channel.eventLoop.execute(body) }
    }
}
