import NIOCore
import NIOPosix

/// WebSockets with one listen each, and one more that writes. All are on one event loop of their own, so that one clock
/// and no other load is theirs.
final class SocketAudience: Sendable {
    /// What the sockets have received since the last write.
    private final class Heard {
        var sockets: [RealtimeSocket] = []
        var count = 0
        var last: NIODeadline = .now()
        /// The message that each socket must receive; nil for any.
        var expected: ByteBuffer?
        var awaited: (count: Int, promise: EventLoopPromise<Void>)?
        var failure: String?

        func received(_ message: ByteBuffer) {
            if let expected, message != expected {
                return fail("\(String(buffer: message).prefix(200)) came for \(String(buffer: expected).prefix(200))")
            }
            count += 1
            guard let awaited, count >= awaited.count else { return }
            last = .now()
            self.awaited = nil
            awaited.promise.succeed()
        }

        /// Waits until as many messages have come.
        func wait(for count: Int, on loop: any EventLoop) -> EventLoopFuture<Void> {
            let promise = loop.makePromise(of: Void.self)
            if let failure {
                promise.fail(LoadError(failure))
            } else if self.count >= count {
                promise.succeed()
            } else {
                awaited = (count, promise)
            }
            return promise.futureResult
        }

        func fail(_ reason: String) {
            failure = failure ?? reason
            awaited?.promise.fail(LoadError(reason))
            awaited = nil
        }
    }

    /// The seconds from a write until it was answered, and until the last socket had it.
    struct Round: Sendable {
        var answered: Double
        var heard: Double
    }

    private let group: MultiThreadedEventLoopGroup
    private let loop: any EventLoop
    private let heard: NIOLoopBound<Heard>
    private let writer: NIOLoopBound<RealtimeSocket>
    private let count: Int

    private init(
        _ group: MultiThreadedEventLoopGroup, _ heard: NIOLoopBound<Heard>, _ writer: NIOLoopBound<RealtimeSocket>,
        count: Int
    ) {
        self.group = group
        loop = group.next()
        self.heard = heard
        self.writer = writer
        self.count = count
    }

    /// Opens sockets, passes them to a body, and closes them.
    ///
    /// - Parameter yields: whether all others go before the sockets' thread, which stands for other machines.
    static func with<Value>(
        _ count: Int, at port: Int, yields: Bool = false, _ body: (SocketAudience) async throws -> Value
    ) async throws -> Value {
        OwnProcess.raiseOpenFiles()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let audience = try await connect(count, to: port, on: group, yields)
            let value = try await body(audience)
            try await audience.close()
            return value
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private static func connect(
        _ count: Int, to port: Int, on group: MultiThreadedEventLoopGroup, _ yields: Bool
    ) async throws -> SocketAudience {
        let loop = group.next()
        let heard = try await loop.submit {
            if yields { OwnProcess.makeThreadYield() }
            return NIOLoopBound(Heard(), eventLoop: loop)
        }.get()
        for _ in 0..<count {
            let socket = try await RealtimeSocket.connect(to: port, on: loop)
            try await loop.submit {
                socket.value.onPush = { heard.value.received($0) }
                socket.value.onEnd = { heard.value.fail($0) }
                heard.value.sockets.append(socket.value)
            }.get()
        }
        let writer = try await RealtimeSocket.connect(to: port, on: loop)
        return SocketAudience(group, heard, writer, count: count)
    }

    /// Makes each socket listen, and waits until all have their first data and are answered.
    func listen(to path: @escaping @Sendable (Int) -> String) async throws {
        let (heard, loop) = (heard, loop)
        try await loop.submit {
            heard.value.expected = nil
            heard.value.count = 0
            for (number, socket) in heard.value.sockets.enumerated() {
                socket.request("q", #"{"p":"/\#(path(number))","h":""}"#) { answer in
                    if answer.status != "ok" { heard.value.fail(String(buffer: answer.message)) }
                }
            }
        }.get()
        try await loop.flatSubmit { [count] in heard.value.wait(for: count, on: loop) }.get()
    }

    /// Sets a value that all sockets listen to, and waits until each has received it.
    ///
    /// - Parameter listeners: how many sockets listen to it.
    func write(_ json: String, to path: String) async throws -> Round {
        let (heard, loop, writer, count) = (heard, loop, writer, count)
        let answered = loop.makePromise(of: NIODeadline.self)
        let (start, end) = try await loop.flatSubmit {
            heard.value.count = 0
            heard.value.expected = ByteBuffer(string: Self.push(json, to: path))
            let start = NIODeadline.now()
            writer.value.request("p", #"{"p":"/\#(path)","d":\#(json)}"#) { answer in
                if answer.status == "ok" {
                    answered.succeed(.now())
                } else {
                    answered.fail(LoadError(String(buffer: answer.message)))
                }
            }
            return heard.value.wait(for: count, on: loop).map { (start, heard.value.last) }
        }.get()
        let answer = try await answered.futureResult.get()
        return Round(answered: (answer - start).seconds, heard: (end - start).seconds)
    }

    /// The message that notifies of a value.
    static func push(_ json: String, to path: String) -> String {
        #"{"t":"d","d":{"a":"d","b":{"p":"\#(path)","d":\#(json)}}}"#
    }

    private func close() async throws {
        let (heard, writer) = (heard, writer)
        try await loop.submit {
            for socket in heard.value.sockets { socket.close() }
            writer.value.close()
        }.get()
        try await group.shutdownGracefully()
    }
}

extension TimeAmount {
    /// The amount in seconds.
    var seconds: Double { Double(nanoseconds) / 1e9 }
}
