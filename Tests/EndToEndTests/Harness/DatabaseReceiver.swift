import NIOCore
import NIOWebSocket
import Synchronization

/// What a ``DatabaseSocket`` receives: joins pieces, hands answers to the requests, and applies pushes to the views.
final class DatabaseReceiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame
    typealias Continuation = CheckedContinuation<DatabaseSocket.Answer, any Error>

    private struct State {
        var isClosed = false
        var hello: JSON?
        var waiting: [Int: Continuation] = [:]
        var lastRequest = 0
        var views: [Int?: DatabaseSocket.View] = [:]
        /// Of a message in pieces: how many are still to come, and those that came.
        var pieces: (missing: Int, text: String)?
    }

    private let state = Mutex(State())

    /// Waits for the greeting.
    func hello() async throws -> JSON {
        try await Bound.wait("the database greets") { self.state.withLock { $0.isClosed || $0.hello != nil } }
        guard let hello = state.withLock({ $0.hello }) else { throw DatabaseSocket.Closed() }
        return hello
    }

    /// - Returns: the number of a new request; nil if the connection has ended.
    func expect(_ continuation: Continuation) -> Int? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.lastRequest += 1
            state.waiting[state.lastRequest] = continuation
            return state.lastRequest
        }
    }

    func addView(_ view: DatabaseSocket.View, tag: Int?) { state.withLock { $0.views[tag] = view } }

    func view(tag: Int?) -> DatabaseSocket.View? { state.withLock { $0.views[tag] } }

    /// The connection has ended.
    func end() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(throwing: DatabaseSocket.Closed()) }
    }

    // MARK: Frames

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: receive(String(buffer: frame.unmaskedData))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func receive(_ frame: String) {
        let message: String? = state.withLock { state in
            if let (missing, text) = state.pieces {
                state.pieces = missing == 1 ? nil : (missing - 1, text + frame)
                return missing == 1 ? text + frame : nil
            }
            guard frame.utf8.count <= 6, let count = Int(frame) else { return frame }
            state.pieces = (count, "")
            return nil
        }
        guard let message, let json = try? JSON(parsing: message), let content = json["d"] else { return }
        if json["t"] == .string("c") {
            if content["t"] == .string("h") { state.withLock { $0.hello = content["d"] } }
        } else if let number = content["r"]?.integer {
            let answer = DatabaseSocket.Answer(
                status: content["b"]?["s"]?.text ?? "", data: content["b"]?["d"] ?? .null)
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: answer)
        } else if let action = content["a"]?.text, let body = content["b"] {
            state.withLock { Self.apply(action, body, &$0.views) }
        }
    }

    private static func apply(_ action: String, _ body: JSON, _ views: inout [Int?: DatabaseSocket.View]) {
        let tag = body["t"]?.integer
        let path = (body["p"]?.text ?? "").drop { $0 == "/" }
        guard var view = views[tag], path.hasPrefix(view.path) else { return }
        let place = String(path.dropFirst(view.path.count))
        let data = body["d"] ?? .null
        switch action {
        case "d": view.value.set(place, to: data)
        case "m":
            var value = view.value.value(at: place)
            value.merge(data)
            view.value.set(place, to: value)
        default: return
        }
        view.pushes += 1
        views[tag] = view
    }
}
