import NIOCore
import NIOPosix

/// A WebSocket as tasks use it.
final class RealtimeClient: Sendable {
    private let loop: any EventLoop
    private let socket: NIOLoopBound<RealtimeSocket>

    private init(_ loop: any EventLoop, _ socket: NIOLoopBound<RealtimeSocket>) {
        self.loop = loop
        self.socket = socket
    }

    static func with<Value>(_ port: Int, _ body: (RealtimeClient) async throws -> Value) async throws -> Value {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let client = RealtimeClient(loop, try await RealtimeSocket.connect(to: port, on: loop))
        do {
            let value = try await body(client)
            try await client.close()
            return value
        } catch {
            try? await client.close()
            throw error
        }
    }

    /// Listens to paths, all requested together.
    ///
    /// - Returns: the seconds until the first data of all had come and were answered, and the bytes of the data.
    func listen(to paths: [String]) async throws -> (seconds: Double, bytes: Int) {
        let (loop, socket, count) = (loop, socket, paths.count)
        return try await loop.flatSubmit {
            let end = loop.makePromise(of: (seconds: Double, bytes: Int).self)
            var (pushes, answers, bytes) = (0, 0, 0)
            let start = NIODeadline.now()
            func check() {
                if pushes == count, answers == count { end.succeed(((NIODeadline.now() - start).seconds, bytes)) }
            }
            socket.value.onEnd = { end.fail(LoadError($0)) }
            socket.value.onPush = { message in
                pushes += 1
                bytes += message.readableBytes
                check()
            }
            for path in paths {
                socket.value.request("q", #"{"p":"/\#(path)","h":""}"#) { answer in
                    guard answer.status == "ok" else { return end.fail(LoadError(String(buffer: answer.message))) }
                    answers += 1
                    check()
                }
            }
            return end.futureResult
        }.get()
    }

    /// Ends listens.
    func unlisten(_ paths: [String]) async throws {
        let (loop, socket) = (loop, socket)
        try await loop.flatSubmit {
            let ends = paths.map { path in
                let end = loop.makePromise(of: Void.self)
                socket.value.request("n", #"{"p":"/\#(path)"}"#) { answer in
                    if answer.status == "ok" {
                        end.succeed()
                    } else {
                        end.fail(LoadError(String(buffer: answer.message)))
                    }
                }
                return end.futureResult
            }
            return EventLoopFuture.andAllSucceed(ends, on: loop)
        }.get()
    }

    private func close() async throws {
        let socket = socket
        try await loop.submit { socket.value.close() }.get()
    }
}
