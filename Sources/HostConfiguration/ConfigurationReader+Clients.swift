import Sharing
import StrictJSON

/// One key of the section `clients`.
struct ClientOption {
    enum Kind {
        /// - Parameter of: what is counted.
        case count(of: String)
        case seconds
        case bytes
    }

    var key: String
    var field: WritableKeyPath<ClientLimits, Int>
    var range: ClosedRange<Int>
    var kind: Kind

    init(_ key: String, _ field: WritableKeyPath<ClientLimits, Int>, _ range: ClosedRange<Int>, _ kind: Kind) {
        self.key = key
        self.field = field
        self.range = range
        self.kind = kind
    }

    /// The parts of the section with their keys.
    static var parts: [(name: String, options: [ClientOption])] {
        [("grpc", grpc), ("listen", listen), ("write", write), ("webChannel", webChannel)]
    }

    private static let many = 1...1_000_000
    private static let memory = 1 << 20...65_536 << 20
    private static let part = 64 << 10...1024 << 20

    private static var grpc: [ClientOption] {
        [
            .init("callsPerConnection", \.grpc.callsPerConnection, 1...10_000, .count(of: "calls")),
            .init("calls", \.grpc.calls, many, .count(of: "calls")),
            .init("callsPerClient", \.grpc.callsPerClient, many, .count(of: "calls")),
            .init("window", \.grpc.window, 64 << 10...64 << 20, .bytes),
            .init("pingSeconds", \.grpc.pingSeconds, 5...3600, .seconds),
            .init("idleSeconds", \.grpc.idleSeconds, 1...86_400, .seconds),
        ]
    }

    private static var listen: [ClientOption] {
        [
            .init("targetsPerStream", \.listen.targetsPerStream, many, .count(of: "targets")),
            .init("message", \.listen.message, 1 << 10...10 << 20, .bytes),
            .init("waitingAnswers", \.listen.waitingAnswers, many, .count(of: "answers")),
            .init("listeners", \.listen.listeners, many, .count(of: "listeners")),
            .init("listenersPerClient", \.listen.listenersPerClient, many, .count(of: "listeners")),
            .init("waitingChanges", \.listen.waitingChanges, many, .count(of: "changes")),
            .init("waitingBytes", \.listen.waitingBytes, memory, .bytes),
            .init("allWaitingBytes", \.listen.allWaitingBytes, memory, .bytes),
            .init("windowBytesPerClient", \.listen.windowBytesPerClient, memory, .bytes),
            .init("allWindowBytes", \.listen.allWindowBytes, memory, .bytes),
            .init("refillSeconds", \.listen.refillSeconds, 1...60, .seconds),
            .init("backlog", \.listen.backlog, memory, .bytes),
        ]
    }

    private static var write: [ClientOption] {
        [
            .init("waiting", \.write.waiting, many, .count(of: "writes")),
            .init("waitingBytes", \.write.waitingBytes, part, .bytes),
            .init("waitingAnswers", \.write.waitingAnswers, many, .count(of: "answers")),
        ]
    }

    private static var webChannel: [ClientOption] {
        [
            .init("sessions", \.webChannel.sessions, many, .count(of: "sessions")),
            .init("sessionsPerClient", \.webChannel.sessionsPerClient, many, .count(of: "sessions")),
            .init("patienceSeconds", \.webChannel.patienceSeconds, 1...3600, .seconds),
            .init("keepAliveSeconds", \.webChannel.keepAliveSeconds, 1...40, .seconds),
            .init("unacknowledged", \.webChannel.unacknowledged, part, .bytes),
            .init("backChannel", \.webChannel.backChannel, part, .bytes),
            .init("early", \.webChannel.early, part, .bytes),
        ]
    }
}

extension ConfigurationReader {
    mutating func clients(_ node: JSONNode) -> ClientLimits {
        var limits = ClientLimits()
        let known = ClientOption.parts.map(\.name)
        guard let parts = object(node, key: "clients", known: known) else { return limits }
        for (name, options) in ClientOption.parts {
            guard let part = parts[name],
                let object = object(part, key: "clients.\(name)", known: options.map(\.key))
            else { continue }
            for option in options {
                if let node = object[option.key], let value = value(node, option) {
                    limits[keyPath: option.field] = value
                }
            }
        }
        return limits
    }

    private mutating func value(_ node: JSONNode, _ option: ClientOption) -> Int? {
        switch option.kind {
        case .count(let what): integer(node, option.range, "a number of \(what)")
        case .seconds: integer(node, option.range, "a time in seconds")
        case .bytes: byteCount(node, "an amount of memory", option.range)
        }
    }
}
