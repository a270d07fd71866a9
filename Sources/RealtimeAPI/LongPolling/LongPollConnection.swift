import RealtimeModel
import TextFormats

/// The transport of a session that polls: requests are held until there is something to answer, and the client's messages come
/// with them in pieces.
///
/// A pure state machine. A poll's answer is a script that calls two functions of the page.
struct LongPollConnection {
    typealias PollID = UInt64

    /// What is to be done, in order.
    enum Action: Equatable {
        /// Answers a poll with a script.
        case answer(PollID, [UInt8])
        /// Hands a message of the client to the session.
        case receive([UInt8])
        /// Reads a large message by ``LongPollConnection/decode(_:)``, calls ``LongPollConnection/didRead()``, and hands it to
        /// the session before what that returns is done.
        case read(String)
        /// Refuses a request whose message is above the bound and was discarded.
        case refuse(request: Int64)
        /// Ends the session.
        case end
        /// A WebSocket takes over: what the session sends from now on goes there.
        case switchTransport
    }

    /// How far a WebSocket has taken over.
    private enum Upgrade: Equatable {
        case none
        /// A WebSocket is open and not used yet.
        case offered(isConfirmed: Bool, isPollingOver: Bool)
        case done
    }

    private let callback: String
    private let maxMessageBytes: Int
    private var held: [PollID] = []
    /// The client's messages so far.
    private var nextSegment = 0
    private var early: [Int: LongPollRequest.Segment] = [:]
    private var earlyBytes = 0
    private var message = ""
    private var missingSegments = 0
    /// The request of a message that is too large, until all of it has come.
    private var refused: Int64?
    /// Of a large message that is being read. What comes behind it waits, so that messages keep their order.
    private var readingBytes = 0
    private var isPaused = false
    /// What isn't sent yet.
    private var messages: [[UInt8]] = []
    private var nextResponse = 0
    private var upgrade = Upgrade.none
    private(set) var isEnded = false

    /// A client has two requests at a time.
    private static let maxEarlySegments = 512
    /// Messages up to this are read at once.
    private static let smallMessage = 64 * 1024
    /// Where a request's number is looked for: whole groups of base64 at the beginning.
    private static let numberBytes = 4_096

    init(callback: String, maxMessageBytes: Int = RealtimeLimits.maxSocketWriteBytes) {
        self.callback = callback
        self.maxMessageBytes = maxMessageBytes
    }

    var isPolled: Bool { !held.isEmpty }

    /// The bytes of the client's messages that the session doesn't have yet.
    var heldBytes: Int { earlyBytes + message.utf8.count + readingBytes }

    /// The bytes that wait for a poll.
    private(set) var waitingBytes = 0

    // MARK: Polls

    /// The answer to the first request, with the messages that there are.
    mutating func start(id: String, password: String) -> [UInt8] {
        command(["start", id, password]) + takeMessages()
    }

    /// A poll has come.
    mutating func poll(_ id: PollID, _ segments: [LongPollRequest.Segment]) -> [Action] {
        guard !isEnded else { return [.answer(id, lastMessages())] }
        held.append(id)
        var actions = releasePolls()
        guard receive(segments, &actions) else { return actions + end() + [.end] }
        flush(&actions)
        return actions
    }

    /// The client waits for a free request before it sends more, and has two: one is held. While nothing more is to be read,
    /// both are, until one of them is held for long enough.
    private mutating func releasePolls() -> [Action] {
        let excess = held.prefix(max(held.count - (isPaused ? 2 : 1), 0))
        held.removeFirst(excess.count)
        return excess.map { .answer($0, []) }
    }

    mutating func setReading(_ isReading: Bool) -> [Action] {
        isPaused = !isReading
        return releasePolls()
    }

    /// A poll is held for long enough: proxies and browsers end those that take longer.
    mutating func holdEnded(_ id: PollID) -> [Action] {
        guard let index = held.firstIndex(of: id) else { return [] }
        held.remove(at: index)
        return [.answer(id, [])]
    }

    /// A poll's connection is closed.
    mutating func left(_ id: PollID) { held.removeAll { $0 == id } }

    // MARK: What the client sends

    /// - Returns: false if the client breaks the protocol, or a bound.
    private mutating func receive(_ segments: [LongPollRequest.Segment], _ actions: inout [Action]) -> Bool {
        for segment in segments where segment.number >= nextSegment {
            let former = early.updateValue(segment, forKey: segment.number)
            earlyBytes += segment.data.utf8.count - (former?.data.utf8.count ?? 0)
        }
        guard early.count <= Self.maxEarlySegments else { return false }
        return join(&actions)
    }

    private mutating func join(_ actions: inout [Action]) -> Bool {
        // What is behind the last message before a WebSocket takes over is none of the protocol.
        while !isEnded, readingBytes == 0, let segment = early.removeValue(forKey: nextSegment) {
            nextSegment += 1
            earlyBytes -= segment.data.utf8.count
            if missingSegments == 0 { missingSegments = segment.count }
            missingSegments -= 1
            if refused == nil, message.utf8.count + segment.data.utf8.count > maxMessageBytes / 3 * 4 + 4 {
                // The client can give it up. If the session ended, it would send it again each time.
                guard let number = Self.requestNumber(in: message, segment.data) else { return false }
                refused = number
                message = ""
            }
            if refused == nil { message += segment.data }
            guard missingSegments == 0 else { continue }
            if let number = refused {
                refused = nil
                actions.append(.refuse(request: number))
                continue
            }
            let text = message
            message = ""
            if text.utf8.count > Self.smallMessage {
                readingBytes = text.utf8.count
                actions.append(.read(text))
                continue
            }
            guard let bytes = Self.decode(text) else { return false }
            if !control(bytes, &actions) { actions.append(.receive(bytes)) }
        }
        return true
    }

    /// - Returns: A message as the client wrote it; nil if it isn't validly encoded.
    static func decode(_ text: String) -> [UInt8]? {
        // Padding is written as dots. Bytes, since finding a text's characters takes long.
        let bytes = text.utf8.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "=") : $0 }
        return Base64.decodeAnyAlphabet(String(decoding: bytes, as: UTF8.self))
    }

    /// The number of the request that a message begins with; nil if it has none.
    private static func requestNumber(in message: String, _ next: String) -> Int64? {
        var beginning = Array(message.utf8.prefix(numberBytes))
        beginning += next.utf8.prefix(numberBytes - beginning.count)
        beginning.removeLast(beginning.count % 4)
        guard let bytes = decode(String(decoding: beginning, as: UTF8.self)) else { return nil }
        var finder = RequestNumberFinder()
        finder.scan(bytes)
        return finder.number
    }

    /// A large message is read.
    mutating func didRead() -> [Action] {
        readingBytes = 0
        guard !isEnded else { return [] }
        var actions: [Action] = []
        guard join(&actions) else { return actions + end() + [.end] }
        return actions
    }

    /// - Returns: whether the message was one for the transport.
    private mutating func control(_ bytes: [UInt8], _ actions: inout [Action]) -> Bool {
        guard bytes.withUnsafeBytes({ RealtimeMessage.isEndOfTransmission($0) }) else { return false }
        if case .offered(let isConfirmed, _) = upgrade {
            upgrade = .offered(isConfirmed: isConfirmed, isPollingOver: true)
            switchIfReady(&actions)
        }
        return true
    }

    // MARK: What the session sends

    mutating func send(_ message: [UInt8]) -> [Action] {
        guard !isEnded else { return [] }
        messages.append(message)
        waitingBytes += message.count
        var actions: [Action] = []
        flush(&actions)
        return actions
    }

    private mutating func flush(_ actions: inout [Action]) {
        guard !messages.isEmpty, let poll = held.first else { return }
        held.removeFirst()
        actions.append(.answer(poll, takeMessages()))
    }

    /// Ends the session, and no WebSocket takes over any more. A held poll, or the next one, says so after the messages
    /// that wait.
    mutating func end() -> [Action] {
        guard !isEnded else { return [] }
        isEnded = true
        withdrawUpgrade()
        forgetReceived()
        defer { held = [] }
        guard let last = held.last else { return [] }
        return held.dropLast().map { .answer($0, []) } + [.answer(last, lastMessages())]
    }

    /// Nothing more of what the client has sent in part is read.
    private mutating func forgetReceived() {
        early = [:]
        earlyBytes = 0
        message = ""
        missingSegments = 0
        refused = nil
    }

    /// Ends the session without the messages that wait.
    mutating func abort() -> [Action] {
        messages = []
        waitingBytes = 0
        return end()
    }

    private mutating func lastMessages() -> [UInt8] {
        let rest = takeMessages()
        return rest + closing()
    }

    // MARK: Upgrade

    /// A WebSocket names the session.
    ///
    /// - Returns: false if another one has done so.
    mutating func offerUpgrade() -> Bool {
        guard upgrade == .none, !isEnded else { return false }
        upgrade = .offered(isConfirmed: false, isPollingOver: false)
        return true
    }

    /// The client has said on the WebSocket that it goes on there.
    mutating func confirmUpgrade() -> [Action] {
        guard case .offered(_, let isPollingOver) = upgrade else { return [] }
        upgrade = .offered(isConfirmed: true, isPollingOver: isPollingOver)
        var actions: [Action] = []
        switchIfReady(&actions)
        return actions
    }

    /// The WebSocket is closed before the client went on there, which goes on polling; or the session has ended.
    mutating func withdrawUpgrade() {
        if case .offered = upgrade { upgrade = .none }
    }

    private mutating func switchIfReady(_ actions: inout [Action]) {
        guard case .offered(true, true) = upgrade else { return }
        upgrade = .done
        // The client takes the WebSocket's messages after this one.
        actions += send(ServerMessage.control("n"))
        actions.append(.switchTransport)
        isEnded = true
        forgetReceived()
        actions += held.map { .answer($0, closing()) }
        held = []
    }

    // MARK: Scripts

    private func command(_ arguments: [String]) -> [UInt8] {
        Array(
            #"parent.window["pLPCommand\#(callback)"](\#(arguments.map { "\"\($0)\"" }.joined(separator: ",")));"#.utf8)
    }

    /// The client closes once it has all messages, also those of an answer that is still on its way.
    private func closing() -> [UInt8] {
        guard nextResponse > 1 else { return command(["close"]) }
        return Array(#"parent.window["pLPCommand\#(callback)"]("close",\#(nextResponse - 1));"#.utf8)
    }

    /// The call with all messages that wait; empty if there are none.
    private mutating func takeMessages() -> [UInt8] {
        guard !messages.isEmpty else { return [] }
        var script = Array(#"parent.window["pRTLPCB\#(callback)"](\#(nextResponse),["#.utf8)
        script.reserveCapacity(waitingBytes + messages.count + 64)
        nextResponse += 1
        for (index, message) in messages.enumerated() {
            if index > 0 { script.append(UInt8(ascii: ",")) }
            Self.append(message, to: &script)
        }
        script += "]);".utf8
        messages = []
        waitingBytes = 0
        return script
    }

    /// Appends JSON as JavaScript. Older browsers take two of its characters for line breaks.
    private static func append(_ json: [UInt8], to script: inout [UInt8]) {
        var start = 0
        for index in json.indices where json[index] == 0xE2 {
            guard index + 2 < json.count, json[index + 1] == 0x80, json[index + 2] & 0xFE == 0xA8 else { continue }
            script += json[start..<index]
            script += (json[index + 2] == 0xA8 ? "\\u2028" : "\\u2029").utf8
            start = index + 3
        }
        script += json[start...]
    }
}
