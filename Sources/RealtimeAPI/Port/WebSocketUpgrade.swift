import Crypto
import NIOCore
import NIOHTTP1
import RealtimeModel
import TextFormats

/// A request for a WebSocket.
final class WebSocketUpgrade: RESTExchange {
    private let head: HTTPRequestHead
    private let connection: RESTConnection

    private var loop: RealtimeLoop { connection.loop }

    init(_ head: HTTPRequestHead, _ connection: RESTConnection) {
        self.head = head
        self.connection = connection
    }

    func receive(_ bytes: ByteBuffer) {}

    func clientIsReady() {}

    func clientLeft() {}

    func begin() {
        do throws(RESTRefusal) { try upgrade() } catch { connection.refuse(error) }
    }

    private func upgrade() throws(RESTRefusal) {
        // The others are closed already. The client connects again.
        guard !loop.isStopping else { throw RESTRefusal(503, "The server is stopping.") }
        guard let accept = Self.accept(head) else {
            throw RESTRefusal(400, "This address is for WebSockets of version 13.")
        }
        let query = head.uri.split(separator: "?", maxSplits: 1).dropFirst().first
        guard let parameters = URLParameters(query ?? "") else {
            throw RESTRefusal(400, "The URL's parameters are not validly encoded.")
        }
        let opening = try SessionOpening(head, parameters, loop.parts)
        let headers: HTTPHeaders = ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept]
        let address = connection.address
        do {
            if let id = parameters["s"] {
                try continueSession(id, opening, headers, address)
            } else {
                let session = opening.connection(on: loop, address: address)
                let answersPings = !head.headers["User-Agent"].contains { $0.hasSuffix("/AdminJava") }
                try connection.upgrade(headers) { [loop] channel in
                    let socket = WebSocketHandler(
                        channel, to: SessionSocket(session), on: session.queue, address: address,
                        answersPings: answersPings, loop: loop)
                    return (socket, { session.begin(WebSocketTransport(socket, channel)) })
                }
            }
        } catch {
            connection.abort()
        }
    }

    /// The client polls, and would rather go on here.
    private func continueSession(
        _ id: String, _ opening: SessionOpening, _ headers: HTTPHeaders, _ address: UInt64
    ) throws {
        let known = loop.parts.polls[id].flatMap { $0.connection.key.database == opening.key.database ? $0 : nil }
        let host = opening.opening.host
        try connection.upgrade(headers) { [loop] channel in
            guard let known else {
                let socket = WebSocketHandler(
                    channel, to: OfferedSocket(), on: ConnectionQueue(loop), address: address, loop: loop)
                return (socket, { Self.sendBack(WebSocketTransport(socket, channel), to: host) })
            }
            let receiver = OfferedSocket()
            let queue = known.connection.queue
            let socket = WebSocketHandler(channel, to: receiver, on: queue, address: address, loop: loop)
            let transport = WebSocketTransport(socket, channel)
            let offer: @Sendable () -> Void = {
                guard receiver.offer(transport, to: known) else { return Self.sendBack(transport, to: host) }
                transport.send(ServerMessage.control("a"))
                transport.flush()
            }
            // Before any message of the socket is received, on its session's loop.
            return (socket, { if queue.loop === loop { offer() } else { queue.post(offer) } })
        }
    }

    /// The client goes on polling.
    private static func sendBack(_ transport: WebSocketTransport, to host: String) {
        transport.send(ServerMessage.control("r", host))
        transport.flush()
        transport.close()
    }

    /// The value of `Sec-WebSocket-Accept` (RFC 6455, section 4.2.2); nil if the request isn't one for a WebSocket.
    private static func accept(_ head: HTTPRequestHead) -> String? {
        guard head.method == .GET,
            head.headers[canonicalForm: "Upgrade"].contains(where: { $0.lowercased() == "websocket" }),
            head.headers[canonicalForm: "Connection"].contains(where: { $0.lowercased() == "upgrade" }),
            head.headers.first(name: "Sec-WebSocket-Version") == "13",
            let key = head.headers.first(name: "Sec-WebSocket-Key"), Base64.decode(key)?.count == 16
        else { return nil }
        return Base64.encode(
            Array(Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))))
    }
}

/// A WebSocket that names a session which polls. The session has nothing to do with it unless it takes it.
///
/// `@unchecked Sendable`: it is used on its session's loop only.
final class OfferedSocket: SocketReceiver, @unchecked Sendable {
    /// Nil if there is no such session, or if it has another socket.
    private var session: PollSession?

    /// - Returns: whether the session takes the socket.
    func offer(_ transport: WebSocketTransport, to session: PollSession) -> Bool {
        guard session.offer(transport) else { return false }
        self.session = session
        return true
    }

    func receive(_ message: RealtimeMessage, bytes: Int) { session?.receive(message, bytes: bytes) }

    func socketIsReady() { session?.socketIsReady() }

    func socketClosed() { session?.socketClosed() }
}
