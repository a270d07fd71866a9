import NIOCore
import NIOPosix

/// Clients that set values of their own at a steady pace, whether the writes before are answered or not: so that a time in
/// which the host answers none counts for all writes within it.
///
/// They have an event loop of their own.
enum PacedWriters {
    private final class Writer {
        let socket: RealtimeSocket
        let number: Int
        private(set) var report = LoadReport()
        private(set) var failure: String?
        private var written = 0
        private var waiting = 0
        private var idle: EventLoopPromise<Void>?

        init(_ socket: RealtimeSocket, number: Int) {
            self.socket = socket
            self.number = number
            socket.onEnd = { self.fail($0) }
        }

        func write() {
            guard failure == nil else { return }
            written += 1
            waiting += 1
            let start = NIODeadline.now()
            socket.request("p", #"{"p":"/paced/writer-\#(number)","d":\#(written)}"#) { answer in
                self.waiting -= 1
                if answer.status == "ok" {
                    self.report.add(latency: .nanoseconds((NIODeadline.now() - start).nanoseconds))
                } else {
                    self.fail(String(buffer: answer.message))
                }
                if self.waiting == 0 { self.idle?.succeed() }
            }
        }

        /// Waits for the answers.
        func end(_ promise: EventLoopPromise<Void>) {
            idle = promise
            if waiting == 0 || failure != nil { promise.succeed() }
        }

        private func fail(_ reason: String) {
            failure = failure ?? reason
            idle?.succeed()
        }
    }

    /// - Parameters:
    ///   - pause: between two writes of one writer.
    ///   - body: what happens meanwhile.
    /// - Returns: the time that each write took.
    static func run(
        _ count: Int, at port: Int, every pause: TimeAmount, while body: () async throws -> Void
    ) async throws -> LoadReport {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        do {
            var writers: [NIOLoopBound<Writer>] = []
            for number in 0..<count {
                let socket = try await RealtimeSocket.connect(to: port, on: loop)
                writers.append(
                    try await loop.submit {
                        NIOLoopBound(Writer(socket.value, number: number), eventLoop: loop)
                    }.get())
            }
            let tasks = writers.enumerated().map { index, writer in
                loop.scheduleRepeatedTask(
                    initialDelay: .nanoseconds(pause.nanoseconds * Int64(index) / Int64(count)), delay: pause
                ) { _ in writer.value.write() }
            }
            let start = ContinuousClock.now
            try await body()
            for task in tasks { task.cancel() }
            var report = LoadReport()
            for writer in writers {
                let end = loop.makePromise(of: Void.self)
                try await loop.submit { writer.value.end(end) }.get()
                try await end.futureResult.get()
                let (part, failure) = try await loop.submit {
                    writer.value.socket.close()
                    return (writer.value.report, writer.value.failure)
                }.get()
                if let failure { throw LoadError(failure) }
                report.add(part)
            }
            report.elapsed = (ContinuousClock.now - start).seconds
            try await group.shutdownGracefully()
            return report
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }
}
