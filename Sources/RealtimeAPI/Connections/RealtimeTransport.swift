/// Carries a session's messages to its client. It is used on the session's loop only.
protocol RealtimeTransport: AnyObject {
    /// Whether the client takes more. When it does again, the transport calls ``RealtimeConnection/transportIsReady()``.
    var isReady: Bool { get }

    func send(_ message: [UInt8])

    func send(_ push: RealtimePush, tag: Int64?)

    /// Begins a message that is written part by part.
    ///
    /// - Parameter units: the message's UTF-16 units.
    func beginParts(units: Int)

    func sendPart(_ part: [UInt8])

    func endParts()

    /// Hands over what was sent so far. Called once for many messages.
    func flush()

    func setReading(_ isReading: Bool)

    /// Closes once all before it is sent.
    func close()

    /// Closes at once: the client doesn't read.
    func abort()
}
