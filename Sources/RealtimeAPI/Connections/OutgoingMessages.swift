import NIOCore

/// A connection's messages, values and pushes on their way to its client: sent in their order, as the client takes them.
///
/// Used on the connection's loop only.
final class OutgoingMessages {
    private let loop: RealtimeLoop
    private var transport: (any RealtimeTransport)?
    /// Takes over once the value that is being sent has ended.
    private var nextTransport: (any RealtimeTransport)?
    private var outbox = RealtimeOutbox()
    private var value: ValueInProgress?
    private(set) var mustFlush = false
    /// Whether something is to be flushed besides pushes.
    private(set) var isUrgent = false
    private var lastFlush: NIODeadline = .uptimeNanoseconds(0)
    /// Whether the loop will flush them after a pause.
    var isDelayed = false

    /// A value that is being sent.
    private struct ValueInProgress {
        var stream: any RealtimeContentStream
        var after: [UInt8]
        /// What was read so far, if the message's length isn't known.
        var collected: [UInt8]?
        var isReading = false
    }

    init(on loop: RealtimeLoop) { self.loop = loop }

    // MARK: The transport

    func begin(_ transport: any RealtimeTransport) { self.transport = transport }

    /// Goes on with another transport.
    func replaceTransport(_ transport: any RealtimeTransport, of connection: RealtimeConnection) {
        guard value == nil else { return nextTransport = transport }
        self.transport = transport
        connection.switched(to: transport)
    }

    func setReading(_ isReading: Bool) { transport?.setReading(isReading) }

    /// Closes the transport at once.
    func abort() { transport?.abort() }

    /// The client is gone: forgets what it hasn't taken.
    func end() {
        value?.stream.cancel()
        value = nil
        outbox.removeAll()
        transport = nil
        nextTransport = nil
    }

    var hasEnded: Bool { transport == nil }

    // MARK: What waits

    var waitingPushBytes: Int { outbox.waitingPushBytes }

    /// The bytes of answers and other messages.
    var waitingMessageBytes: Int { outbox.waitingMessageBytes }

    /// All that waits in memory.
    var waitingBytes: Int { outbox.waitingPushBytes + outbox.waitingMessageBytes + outbox.waitingValueBytes }

    /// Whether the client has more to take than it should have. What is sent is in the socket's buffer, up to its mark.
    func isBackedUp(beyond limit: Int) -> Bool {
        value != nil || outbox.waitingFiles > 0 || outbox.waitingValueBytes + outbox.waitingMessageBytes > limit
    }

    func append(_ item: RealtimeOutbox.Item) { outbox.append(item) }

    // MARK: Sending

    /// Sends a push if nothing waits before it: most clients have read all.
    ///
    /// - Returns: false if it has to wait.
    func sendAtOnce(_ push: RealtimePush, tag: Int64?) -> Bool {
        guard outbox.isEmpty, value == nil, let transport, transport.isReady else { return false }
        transport.send(push, tag: tag)
        flushLater()
        return true
    }

    /// Sends what waits, as far as the client takes it.
    func send(for connection: RealtimeConnection) {
        while value == nil, let transport, transport.isReady, let item = outbox.popFirst() {
            switch item {
            case .message(let message): transport.send(message)
            case .push(let push, let tag, _): transport.send(push, tag: tag)
            case .value(let before, .bytes(let bytes), let after): transport.send(before + bytes + after)
            case .value(let before, .stream(let stream, let units), let after):
                begin(before, stream, units: units, after, transport)
            case .end:
                transport.close()
                connection.finish("the host closes it")
            }
            mustFlush = true
            if case .push = item {} else { isUrgent = true }
        }
        readValue(for: connection)
        if mustFlush { flushLater() }
    }

    private func flushLater() {
        mustFlush = true
        loop.flushLater(self)
    }

    func flush() {
        guard mustFlush else { return }
        mustFlush = false
        isUrgent = false
        lastFlush = loop.eventLoop.now
        transport?.flush()
    }

    /// Whether what is to be flushed may wait for more: pushes to a client that had others after a time.
    func mayWait(flushedAfter time: NIODeadline) -> Bool {
        !isUrgent && lastFlush > time && transport?.isReady == true
    }

    // MARK: Values

    private func begin(
        _ before: [UInt8], _ stream: any RealtimeContentStream, units: Int?, _ after: [UInt8],
        _ transport: any RealtimeTransport
    ) {
        value = ValueInProgress(stream: stream, after: after, collected: units == nil ? before : nil)
        guard let units else { return }
        let ends = (before + after).withUnsafeBytes { UTF16Units.count($0) }
        transport.beginParts(units: units + ends)
        transport.sendPart(before)
    }

    private func readValue(for connection: RealtimeConnection) {
        guard var open = value, !open.isReading, let transport else { return }
        guard open.collected != nil || transport.isReady else { return }
        open.isReading = true
        value = open
        open.stream.next { result in connection.received(result) }
    }

    /// A part of the value was read.
    ///
    /// - Returns: false if reading has failed. A part of the message is sent already, so its connection must end.
    func received(_ part: Result<[UInt8]?, RealtimeServiceError>, for connection: RealtimeConnection) -> Bool {
        guard var open = value, let transport else { return true }
        open.isReading = false
        mustFlush = true
        isUrgent = true
        switch part {
        case .success(let part?):
            open.collected?.append(contentsOf: part)
            value = open
            if open.collected == nil { transport.sendPart(part) }
        case .success(nil):
            value = nil
            if let collected = open.collected {
                transport.send(collected + open.after)
            } else {
                transport.sendPart(open.after)
                transport.endParts()
            }
            if let next = nextTransport {
                nextTransport = nil
                flush()
                replaceTransport(next, of: connection)
            }
        case .failure: return false
        }
        return true
    }
}
