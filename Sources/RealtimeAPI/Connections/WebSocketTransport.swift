import NIOCore

/// Sends a session's messages on a WebSocket, whose channel may belong to another loop than the session.
///
/// `@unchecked Sendable`: from its creation on it is used on the session's loop only.
final class WebSocketTransport: RealtimeTransport, @unchecked Sendable {
    private let socket: WebSocketHandler
    private let channel: any Channel
    private var pieces: FramePieces?

    init(_ socket: WebSocketHandler, _ channel: any Channel) {
        self.socket = socket
        self.channel = channel
    }

    var isReady: Bool { channel.isWritable }

    func send(_ message: [UInt8]) { channel.write(FramePieces.frames(of: message), promise: nil) }

    func send(_ push: RealtimePush, tag: Int64?) { channel.write(push.frames(tag: tag), promise: nil) }

    func beginParts(units: Int) {
        let pieces = FramePieces(units: units)
        var frames = ByteBuffer()
        pieces.begin(&frames)
        self.pieces = pieces
        if frames.readableBytes > 0 { channel.write(frames, promise: nil) }
    }

    func sendPart(_ part: [UInt8]) {
        var frames = ByteBuffer()
        part.withUnsafeBytes { pieces?.append($0, to: &frames) }
        if frames.readableBytes > 0 { channel.write(frames, promise: nil) }
    }

    func endParts() {
        var frames = ByteBuffer()
        pieces?.end(&frames)
        pieces = nil
        channel.write(frames, promise: nil)
    }

    func flush() { channel.flush() }

    func setReading(_ isReading: Bool) { socket.onLoop { $0.setReading(isReading) } }

    func close() { socket.onLoop { $0.close() } }

    func abort() { socket.onLoop { $0.abort() } }
}
