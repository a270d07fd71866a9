import NIOCore
import NIOPosix

/// Callers with one keep-alive connection each, all on one event loop.
struct Load: Sendable {
    private let connections: [NIOLoopBound<LoadConnection>]
    private let channels: [any Channel]
    private let ends: [EventLoopFuture<Void>]
    private let loop: any EventLoop

    /// How long a load runs.
    struct Length: Sendable {
        var warmUp: Duration
        var measured: Duration
    }

    /// Runs callers for some time, and measures the operations that end within it.
    ///
    /// - Parameter server: the processes whose CPU time is measured.
    static func run(
        _ callers: [any Caller], to port: Int, for length: Length, of server: ProcessTree
    ) async throws -> LoadReport {
        let load = try await connect(callers, to: port)
        try await load.begin()
        try await Task.sleep(for: length.warmUp)
        let cpu = try server.cpuSeconds()
        let start = ContinuousClock.now
        try await load.resetLatencies()
        try await Task.sleep(for: length.measured)
        var report = try await load.report()
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = try server.cpuSeconds() - cpu
        try await load.stop()
        return report
    }

    /// Runs callers for as long as a body runs.
    static func during<Result>(
        _ callers: [any Caller], to port: Int, _ body: () async throws -> Result
    ) async throws -> Result {
        let load = try await connect(callers, to: port)
        try await load.begin()
        do {
            let result = try await body()
            try await load.stop()
            return result
        } catch {
            try? await load.stop()
            throw error
        }
    }

    /// Runs callers until they have no more operations.
    ///
    /// - Parameter server: the processes whose CPU time is measured; nil if it isn't needed.
    static func runToEnd(
        _ callers: [any Caller], to port: Int, of server: ProcessTree? = nil
    ) async throws -> LoadReport {
        let load = try await connect(callers, to: port)
        let cpu = try server?.cpuSeconds() ?? 0
        let start = ContinuousClock.now
        try await load.begin()
        for end in load.ends { try await end.get() }
        let elapsed = (ContinuousClock.now - start).seconds
        let cpuAfter = try server?.cpuSeconds() ?? 0
        var report = try await load.report()
        report.elapsed = elapsed
        report.cpu = cpuAfter - cpu
        try await load.stop()
        return report
    }

    /// Sends one request and returns the response.
    static func ask(_ request: ByteBuffer, of port: Int) async throws -> LoadResponse {
        let answer = Collector<LoadResponse>()
        let caller = ListCaller([request]) { received in
            answer.append(received)
            return true
        }
        let report = try await runToEnd([caller], to: port)
        guard let first = answer.all.first else { throw LoadError(report.firstError ?? "no answer came") }
        return first
    }

    private static func connect(_ callers: [any Caller], to port: Int) async throws -> Load {
        // One event loop, so that the other cores are left to the server.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let ends = callers.map { _ in loop.makePromise(of: Void.self) }
        var connections: [NIOLoopBound<LoadConnection>] = []
        var channels: [any Channel] = []
        do {
            for (caller, end) in zip(callers, ends) {
                let (channel, connection) = try await ClientBootstrap(group: loop)
                    .connect(host: "127.0.0.1", port: port) { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let connection = LoadConnection(caller, onEnd: end)
                            try channel.pipeline.syncOperations.addHandler(connection)
                            return (channel, NIOLoopBound(connection, eventLoop: channel.eventLoop))
                        }
                    }
                connections.append(connection)
                channels.append(channel)
            }
        } catch {
            // The callers that aren't connected have no connection that would fulfil their promises.
            for end in ends.dropFirst(connections.count) { end.fail(error) }
            for channel in channels { channel.close(promise: nil) }
            throw error
        }
        return Load(connections: connections, channels: channels, ends: ends.map(\.futureResult), loop: loop)
    }

    private func begin() async throws { try await onLoop { for connection in $0 { connection.value.start() } } }

    private func resetLatencies() async throws {
        try await onLoop { for connection in $0 { connection.value.resetLatencies() } }
    }

    private func report() async throws -> LoadReport {
        try await onLoop { connections in
            var report = LoadReport()
            for connection in connections { report.add(connection.value.record) }
            return report
        }
    }

    private func stop() async throws {
        try await onLoop { for connection in $0 { connection.value.stop() } }
        for end in ends { try await end.get() }
        for channel in channels { try? await channel.close() }
    }

    private func onLoop<Result: Sendable>(
        _ body: @escaping @Sendable ([NIOLoopBound<LoadConnection>]) -> Result
    ) async throws -> Result {
        try await loop.submit { body(connections) }.get()
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { self / .seconds(1) }
}
