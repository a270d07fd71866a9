import NIOCore
import NIOHTTP1

/// A callable's answer as server-sent events.
///
/// A silent stream is kept alive by opening the next event early and sending spaces before its JSON: the usual comment
/// lines end the stream on iOS and are an error on Android.
final class EventStream {
    private let connection: GatewayHandler
    private let loop: any EventLoop
    private var hasBegun = false
    private var hasStopped = false
    private var isEventOpen = false
    private var hasSentSinceBeat = false
    private var beat: RepeatedTask?

    init(connection: GatewayHandler, loop: any EventLoop) {
        self.connection = connection
        self.loop = loop
    }

    /// - Parameter heartbeat: seconds; nil for none.
    func begin(headers: HTTPHeaders, heartbeat: Int?) {
        guard !hasBegun else { return }
        hasBegun = true
        var headers = headers
        headers.add(name: "Cache-Control", value: "no-cache")
        // Proxies such as nginx would keep the events until they have many, or the stream ends.
        headers.add(name: "X-Accel-Buffering", value: "no")
        connection.sendHead(.ok, headers)
        // The client may have left while the head was written.
        guard let heartbeat, !hasStopped else { return }
        let interval = TimeAmount.seconds(Int64(heartbeat))
        let this = NIOLoopBound(WeakReference(self), eventLoop: loop)
        beat = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in this.value.target?.showLife() }
    }

    /// The only key of an event's JSON.
    enum Key {
        case message, result

        fileprivate func opening(isEventOpen: Bool) -> StaticString {
            switch self {
            case .message: isEventOpen ? "{\"message\":" : "data: {\"message\":"
            case .result: isEventOpen ? "{\"result\":" : "data: {\"result\":"
            }
        }
    }

    /// - Parameter taken: called once the client has received the event.
    func send(_ key: Key, _ json: ByteBuffer, taken: @escaping () -> Void) {
        hasSentSinceBeat = true
        connection.sendChunk(event(key, json), taken: taken)
        isEventOpen = false
    }

    /// - Returns: false if the event has no room at the moment; the stream hasn't ended then.
    func end(_ key: Key, _ json: ByteBuffer) -> Bool {
        stop()
        return connection.sendEnd(event(key, json))
    }

    /// Ends the stream with an event whose JSON is complete.
    ///
    /// - Returns: as ``end(_:_:)``.
    func end(_ json: ByteBuffer) -> Bool {
        stop()
        return connection.sendEnd(
            AnswerPart(opening: isEventOpen ? "" : "data: ", content: json, closing: "\n\n"))
    }

    private func event(_ key: Key, _ json: ByteBuffer) -> AnswerPart {
        AnswerPart(opening: key.opening(isEventOpen: isEventOpen), content: json, closing: "}\n\n")
    }

    /// Sends no more signs of life.
    func stop() {
        hasStopped = true
        beat?.cancel()
        beat = nil
    }

    private func showLife() {
        defer { hasSentSinceBeat = false }
        guard !hasSentSinceBeat else { return }
        let life = AnswerPart(opening: isEventOpen ? " " : "data: ", content: ByteBuffer())
        isEventOpen = true
        connection.sendChunk(life, taken: {})
    }
}

private struct WeakReference {
    weak var target: EventStream?

    init(_ target: EventStream) { self.target = target }
}
