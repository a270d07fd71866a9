import Sharing

/// One session of WebChannel, the protocol of Closure's `WebChannelBase` that Firestore's web SDK speaks: what the server
/// sends is numbered and kept until the client has acknowledged it, and what the client sends is handled once and in order.
///
/// A pure state machine. A forward channel is a POST of the client, a back channel a GET that the server answers slowly.
struct WebChannelState {
    /// What a back channel's answer goes on with.
    enum Next: Equatable {
        case chunk([UInt8])
        /// Nothing yet: there may be something after each change.
        case nothing
        case end
    }

    typealias BackChannelID = UInt64

    private struct Numbered {
        let number: Int
        let text: [UInt8]
        let isNoop: Bool
    }

    private struct BackChannel {
        let id: BackChannelID
        /// Whether the answer ends with the first messages, for proxies that hold answers back.
        let isBuffered: Bool
        /// What it was sent since it was opened.
        var bytes = 0
        /// Whether it ends with whatever is sent next, a noop included.
        var isDue = false
        /// Whether it has had all that it is to have, and ends.
        var isComplete = false
    }

    /// What waits for its acknowledgement, in the order of numbers.
    private var unacknowledged: [Numbered] = []
    /// How many of these the open back channel has, or the last one had that has ended by itself.
    private var sent = 0
    private(set) var lastNumber = 0
    private var backChannel: BackChannel?
    /// The number of the next map of the client, and those that came early.
    private var nextMap = 0
    private var early: [Int: [UInt8]] = [:]
    private(set) var earlyBytes = 0
    private(set) var unacknowledgedBytes = 0
    /// Whether nothing more comes, so that the session ends once all was sent.
    private(set) var isFinished = false
    /// Whether it was ended before all was sent. What the stream still had isn't sent then: it follows what was lost.
    private var isTerminated = false

    /// Maps that may wait for earlier ones. The SDK sends at most 1,000 in one request.
    static let maxEarlyMaps = 1000
    private let limits: ClientLimits.WebChannel

    init(_ limits: ClientLimits.WebChannel = .init()) { self.limits = limits }

    var hasBackChannel: Bool { backChannel != nil }

    /// Whether the stream's next messages can be taken.
    var hasRoom: Bool { unacknowledgedBytes < limits.unacknowledged && !isFinished }

    /// The size of what is sent after a number, or waits to be.
    func bytes(after number: Int) -> Int {
        unacknowledged.reversed().prefix { $0.number > number }.reduce(0) { $0 + $1.text.count }
    }

    /// Whether the client was sent everything that will ever come.
    var hasSentAll: Bool { isFinished && sent == unacknowledged.count }

    /// Whether the client has acknowledged everything that will ever come.
    var isDone: Bool { isFinished && unacknowledged.isEmpty && backChannel == nil }

    // MARK: What the client sends

    struct TooManyMaps: Error {}

    /// Whether all maps before have been received.
    func isNext(_ map: Int) -> Bool { map == nextMap }

    /// Receives the maps of a forward channel.
    ///
    /// - Returns: the maps that can be handled now, in order. Known ones are dropped.
    mutating func receive(_ maps: [(number: Int, text: [UInt8])]) throws(TooManyMaps) -> [[UInt8]] {
        for map in maps where map.number >= nextMap && early[map.number] == nil {
            early[map.number] = map.text
            earlyBytes += map.text.count
        }
        var ready: [[UInt8]] = []
        while let next = early.removeValue(forKey: nextMap) {
            ready.append(next)
            earlyBytes -= next.count
            nextMap += 1
        }
        guard early.count <= Self.maxEarlyMaps, earlyBytes <= limits.early else { throw TooManyMaps() }
        return ready
    }

    // MARK: What the server sends

    /// Messages for the client, each of them an array of the protocol.
    mutating func send(_ messages: [[UInt8]]) {
        guard !isTerminated else { return }
        for message in messages { append(message, isNoop: false) }
    }

    /// The stream has ended: nothing follows the messages before.
    mutating func finish() { isFinished = true }

    /// Shows the client, and proxies on the way, that the session lives.
    mutating func keepAlive() {
        // What it hasn't taken yet shows it as well.
        guard hasBackChannel, sent == unacknowledged.count else { return }
        append(Array(#"["noop"]"#.utf8), isNoop: true)
    }

    /// Ends the answer of a buffered back channel to which nothing has happened for long. Behind a proxy that holds
    /// answers back, the client sees nothing of one that goes on, and takes it for dead.
    mutating func endQuietly(_ id: BackChannelID) {
        guard backChannel?.id == id, backChannel?.isBuffered == true else { return }
        backChannel?.isDue = true
        keepAlive()
    }

    private mutating func append(_ text: [UInt8], isNoop: Bool) {
        lastNumber += 1
        unacknowledged.append(Numbered(number: lastNumber, text: text, isNoop: isNoop))
        unacknowledgedBytes += text.count
    }

    // MARK: Back channels

    /// A client has received everything up to a number. Only those that open a back channel say so.
    mutating func acknowledge(_ number: Int) {
        let count = unacknowledged.prefix { $0.number <= number }.count
        unacknowledgedBytes -= unacknowledged.prefix(count).reduce(0) { $0 + $1.text.count }
        unacknowledged.removeFirst(count)
        sent = max(sent - count, 0)
    }

    /// A client opens a back channel, in place of the one before.
    mutating func open(_ id: BackChannelID, isBuffered: Bool) {
        sent = 0
        backChannel = BackChannel(id: id, isBuffered: isBuffered)
        // Without a first byte, the SDK takes it that a proxy holds answers back.
        if unacknowledged.isEmpty, !isFinished { append(Array(#"["noop"]"#.utf8), isNoop: true) }
    }

    /// What a back channel's answer goes on with, once the client has taken most of what was before. So the server has no
    /// copy of what waits, however many back channels a client opens.
    mutating func next(for id: BackChannelID) -> Next {
        guard var open = backChannel, open.id == id else { return .end }
        var end = sent
        var bytes = 0
        while end < unacknowledged.count, bytes < limits.backChannel {
            bytes += unacknowledged[end].text.count
            end += 1
        }
        let new = open.isComplete ? [] : unacknowledged[sent..<end]
        guard !new.isEmpty else {
            guard open.isComplete || isFinished else { return .nothing }
            backChannel = nil
            return .end
        }
        open.bytes += bytes
        open.isComplete =
            open.isDue || open.isBuffered && new.contains { !$0.isNoop } || open.bytes >= limits.backChannel
        backChannel = open
        sent = end
        return .chunk(Self.chunk(of: new))
    }

    /// A back channel's connection is gone. What it may not have received is sent again on the next one, for which a
    /// session that ends waits.
    mutating func closed(_ id: BackChannelID) {
        guard backChannel?.id == id else { return }
        backChannel = nil
        sent = 0
    }

    /// A back channel ends without the chunk that ``next(for:)`` has just returned: that wasn't sent.
    mutating func withhold(from id: BackChannelID) {
        guard backChannel?.id == id else { return }
        backChannel = nil
        sent = 0
    }

    /// Ends the session.
    mutating func terminate() {
        isFinished = true
        isTerminated = true
        unacknowledged = []
        unacknowledgedBytes = 0
        early = [:]
        earlyBytes = 0
        sent = 0
        backChannel = nil
    }

    /// `LENGTH\n[[NUMBER,MESSAGE],…]`, where LENGTH counts UTF-16 units.
    private static func chunk(of arrays: ArraySlice<Numbered>) -> [UInt8] {
        var text: [UInt8] = [UInt8(ascii: "[")]
        for (index, array) in arrays.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += "[\(array.number),".utf8
            text += array.text
            text.append(UInt8(ascii: "]"))
        }
        text.append(UInt8(ascii: "]"))
        return framed(text)
    }

    static func framed(_ text: [UInt8]) -> [UInt8] {
        // Of UTF-8, bytes that begin a character count, and those of four bytes twice.
        let units = text.reduce(0) { $0 + ($1 & 0xC0 == 0x80 ? 0 : $1 >= 0xF0 ? 2 : 1) }
        return Array("\(units)\n".utf8) + text
    }
}
