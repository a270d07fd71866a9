import NIOCore
import NIOHTTP1

/// A callable's answer as server-sent events.
///
/// It shows life by opening the next event early and sending spaces before its JSON: the comment lines that others use
/// for that end the stream on iOS and are an error on Android.
final class EventStream {
    private let connection: GatewayHandler
    private let loop: any EventLoop
    private var hasBegun = false
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
        connection.sendHead(.ok, headers)
        guard let heartbeat else { return }
        let interval = TimeAmount.seconds(Int64(heartbeat))
        let this = NIOLoopBound(WeakReference(self), eventLoop: loop)
        beat = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in this.value.target?.showLife() }
    }

    /// - Parameter taken: called once the client has the event.
    func send(_ key: StaticString, _ json: ByteBuffer, taken: @escaping () -> Void) {
        hasSentSinceBeat = true
        connection.sendChunk(event(key, json), taken: taken)
        isEventOpen = false
    }

    func end(_ key: StaticString, _ json: ByteBuffer) {
        stop()
        connection.sendEnd(event(key, json))
    }

    /// Ends with an event that is whole already.
    func end(_ json: ByteBuffer) {
        stop()
        var event = ByteBuffer()
        open(&event)
        event.writeImmutableBuffer(json)
        event.writeStaticString("\n\n")
        connection.sendEnd(event)
    }

    private func event(_ key: StaticString, _ json: ByteBuffer) -> ByteBuffer {
        var event = ByteBuffer()
        open(&event)
        event.writeStaticString("{\"")
        event.writeStaticString(key)
        event.writeStaticString("\":")
        event.writeImmutableBuffer(json)
        event.writeStaticString("}\n\n")
        return event
    }

    func stop() {
        beat?.cancel()
        beat = nil
    }

    private func open(_ event: inout ByteBuffer) {
        if !isEventOpen { event.writeStaticString("data: ") }
    }

    private func showLife() {
        defer { hasSentSinceBeat = false }
        guard !hasSentSinceBeat else { return }
        var bytes = ByteBuffer()
        if isEventOpen { bytes.writeStaticString(" ") } else { open(&bytes) }
        isEventOpen = true
        connection.sendChunk(bytes, taken: {})
    }
}

private struct WeakReference {
    weak var target: EventStream?

    init(_ target: EventStream) { self.target = target }
}
