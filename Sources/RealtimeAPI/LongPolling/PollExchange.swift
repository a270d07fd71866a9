import NIOCore
import NIOHTTP1

/// A request of long polling and its answer.
final class PollExchange: RESTExchange {
    private let head: HTTPRequestHead
    private let connection: RESTConnection
    private var leave: (@Sendable () -> Void)?
    private var isAnswered = false

    private var loop: RealtimeLoop { connection.loop }

    init(_ head: HTTPRequestHead, _ connection: RESTConnection) {
        self.head = head
        self.connection = connection
    }

    func receive(_ bytes: ByteBuffer) {}

    func clientIsReady() {}

    func clientLeft() {
        isAnswered = true
        leave?()
    }

    func begin() {
        do throws(RESTRefusal) { try answer() } catch { connection.refuse(error) }
    }

    private func answer() throws(RESTRefusal) {
        let query = head.uri.split(separator: "?", maxSplits: 1).dropFirst().first
        guard head.method == .GET || head.method == .POST, let parameters = URLParameters(query ?? "") else {
            throw RESTRefusal(400, "The request is not one of long polling.")
        }
        let (loop, queue) = (loop, connection.queue)
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let send: @Sendable ([UInt8]) -> Void = { script in queue.post { exchange.value.send(script) } }
        switch LongPollRequest(parameters) {
        case .start(let callback):
            let opening = try SessionOpening(Self.withOrigin(head), parameters, loop.parts)
            let address = connection.address
            guard !loop.isStopping, loop.parts.polls.reserve(for: address) else {
                throw RESTRefusal(503, "The server has too many connections at the moment, of this address or of all.")
            }
            let session = PollSession(
                opening.connection(on: loop, address: address), callback: callback,
                password: SessionOpening.randomID(), address: address)
            session.start(send)
        case .poll(let id, let password, let segments):
            guard let leave = loop.parts.polls[id]?.poll(password: password, segments, send) else { throw Self.unknown }
            self.leave = leave
        case .frame:
            connection.send(.ok, ["Content-Type": "text/html; charset=utf-8"], ByteBuffer(string: Self.frame))
        case .disconnect(let id, let password):
            guard loop.parts.polls[id]?.disconnect(password: password) ?? false else { throw Self.unknown }
            send([])
        case .invalid: throw RESTRefusal(400, "The request is not one of long polling.")
        }
    }

    /// The request with the origin of its page. Browsers load the answer as a script, and send no `Origin` then: the page
    /// of any site could open a session as the owner, and read what it answers. `Referer` is the page, unless that forbids
    /// it.
    private static func withOrigin(_ head: HTTPRequestHead) -> HTTPRequestHead {
        guard !head.headers.contains(name: "Origin") else { return head }
        // Without the path: the third slash ends the origin.
        let origin = head.headers.first(name: "Referer").map { page in
            page.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
        }
        var head = head
        head.headers.add(name: "Origin", value: origin ?? "null")
        return head
    }

    /// The client removes the frame when it closes: the frame then ends the session, which otherwise only its silence does.
    private static let frame = """
        <html><body><script>
        addEventListener("pagehide", function () {
          navigator.sendBeacon(location.pathname + location.search.replace("dframe=t", "disconn=t"));
        });
        </script></body></html>

        """

    /// The page's script fails to load, and its client starts over.
    private static let unknown = RESTRefusal(403, "There is no such session.", isPlain: true)

    private func send(_ script: [UInt8]) {
        guard !isAnswered else { return }
        isAnswered = true
        leave = nil
        connection.send(
            .ok, ["Content-Type": "application/javascript; charset=utf-8", "Cache-Control": "no-cache, no-store"],
            ByteBuffer(bytes: script))
    }
}
