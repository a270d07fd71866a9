import FirestoreMessages
import NIOCore
import NIOPosix
import SwiftProtobuf

/// Connections with one Listen stream each, which share a number of targets.
final class ListenAudience: Sendable {
    private final class Listener {
        let client: GRPCClient
        var stream: GRPCClientStream?
        /// Changes of targets that came since the last were awaited.
        var heard = 0
        var current: Set<Int32> = []
        var last = ByteBuffer()
        var failure: String?

        init(_ client: GRPCClient) { self.client = client }

        func received(_ message: ByteBuffer) {
            guard let response = try? FSListenResponse(serializedBytes: Array(message.readableBytesView)) else {
                failure = "a message can't be decoded"
                return
            }
            switch response.responseType {
            case .documentChange(let change)?:
                heard += change.targetIds.count
                last = message
            case .targetChange(let change)? where change.targetChangeType == .current:
                current.formUnion(change.targetIds)
            case .targetChange(let change)? where change.targetChangeType == .remove:
                failure = "a target was removed: \(change.cause.message)"
            default: break
            }
        }
    }

    private let loop: any EventLoop
    private let listeners: [NIOLoopBound<Listener>]

    private init(_ loop: any EventLoop, _ listeners: [NIOLoopBound<Listener>]) {
        self.loop = loop
        self.listeners = listeners
    }

    /// Opens connections and their streams.
    static func connect(_ count: Int, to port: Int) async throws -> ListenAudience {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        var listeners: [NIOLoopBound<Listener>] = []
        for _ in 0..<count {
            let client = try await GRPCClient.connect(to: port, on: loop)
            let listener = try await loop.submit {
                let listener = Listener(client.value)
                let stream = GRPCClientStream {
                    listener.received($0)
                } onEnd: {
                    listener.failure = $0 ?? "it ended"
                }
                listener.stream = stream
                client.value.call("Listen", nil, isOpen: true, stream)
                return NIOLoopBound(listener, eventLoop: loop)
            }.get()
            listeners.append(listener)
        }
        // The host has taken the streams once it answers on the last connection.
        try await Task.sleep(for: .milliseconds(500))
        return ListenAudience(loop, listeners)
    }

    /// Adds targets, dealt among the connections, and waits until all are complete.
    func add(_ count: Int, query: @escaping @Sendable (Int) -> FSStructuredQuery) async throws {
        let all = listeners
        try await loop.submit {
            for number in 0..<count {
                let listener = all[number % all.count].value
                var request = FSListenRequest()
                request.database = "projects/\(HostProcess.project)/databases/(default)"
                request.addTarget.targetID = Int32(number + 1)
                request.addTarget.query.parent = Documents.root
                request.addTarget.query.structuredQuery = query(number)
                listener.stream?.send(try .framed(request))
            }
        }.get()
        try await wait { all in all.reduce(0) { $0 + $1.value.current.count } >= count }
        try await loop.submit { for listener in all { listener.value.heard = 0 } }.get()
    }

    /// Waits until a number of targets have heard of a change.
    ///
    /// - Returns: when the last one has, and one of the messages.
    func changes(count: Int) async throws -> (ContinuousClock.Instant, ByteBuffer) {
        try await wait { all in all.reduce(0) { $0 + $1.value.heard } >= count }
        let end = ContinuousClock.now
        let all = listeners
        return try await loop.submit {
            for listener in all { listener.value.heard = 0 }
            return (end, all[0].value.last)
        }.get()
    }

    /// Looks again and again, since what is waited for is a sum over all connections.
    private func wait(_ condition: @escaping @Sendable ([NIOLoopBound<Listener>]) -> Bool) async throws {
        let all = listeners
        while true {
            let isDone = try await loop.submit {
                if let failure = all.lazy.compactMap(\.value.failure).first { throw LoadError(failure) }
                return condition(all)
            }.get()
            if isDone { return }
            try await Task.sleep(for: .microseconds(200))
        }
    }

    func close() async throws {
        let all = listeners
        try await loop.submit { for listener in all { listener.value.client.channel.close(promise: nil) } }.get()
    }
}
