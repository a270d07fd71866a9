import NIOCore
import NIOPosix

/// Callers with a keep-alive connection each, all on one event loop.
struct Load: Sendable {
    private let lanes: [NIOLoopBound<Lane>]
    private let channels: [any Channel]
    private let ends: [EventLoopFuture<Void>]
    private let loop: any EventLoop

    /// How long a load runs.
    struct Length: Sendable {
        var warmUp: Duration
        var measured: Duration
    }

    /// Runs callers for a time and counts what ends within it.
    ///
    /// - Parameter server: the processes whose CPU time is told.
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

    /// Runs callers until each has no more to do.
    ///
    /// - Parameter server: the processes whose CPU time is told; nil where nobody wants to know.
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

    /// Asks once.
    static func ask(_ request: ByteBuffer, of port: Int) async throws -> Answer {
        let answer = Gathered<Answer>()
        let caller = ListCaller([request]) { received in
            answer.append(received)
            return true
        }
        let report = try await runToEnd([caller], to: port)
        guard let first = answer.all.first else { throw LoadError(report.firstError ?? "no answer came") }
        return first
    }

    private static func connect(_ callers: [any Caller], to port: Int) async throws -> Load {
        // One loop: the machine's other cores are the server's.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let ends = callers.map { _ in loop.makePromise(of: Void.self) }
        var lanes: [NIOLoopBound<Lane>] = []
        var channels: [any Channel] = []
        do {
            for (caller, end) in zip(callers, ends) {
                let (channel, lane) = try await ClientBootstrap(group: loop)
                    .connect(host: "127.0.0.1", port: port) { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let lane = Lane(caller, onEnd: end)
                            try channel.pipeline.syncOperations.addHandler(lane)
                            return (channel, NIOLoopBound(lane, eventLoop: channel.eventLoop))
                        }
                    }
                lanes.append(lane)
                channels.append(channel)
            }
        } catch {
            // Those not connected have no lane that would end them.
            for end in ends.dropFirst(lanes.count) { end.fail(error) }
            for channel in channels { channel.close(promise: nil) }
            throw error
        }
        return Load(lanes: lanes, channels: channels, ends: ends.map(\.futureResult), loop: loop)
    }

    private func begin() async throws { try await onLoop { for lane in $0 { lane.value.start() } } }

    private func resetLatencies() async throws { try await onLoop { for lane in $0 { lane.value.resetLatencies() } } }

    private func report() async throws -> LoadReport {
        try await onLoop { lanes in
            var report = LoadReport()
            for lane in lanes { report.add(lane.value.record) }
            return report
        }
    }

    private func stop() async throws {
        try await onLoop { for lane in $0 { lane.value.stop() } }
        for end in ends { try await end.get() }
        for channel in channels { try? await channel.close() }
    }

    private func onLoop<Result: Sendable>(
        _ body: @escaping @Sendable ([NIOLoopBound<Lane>]) -> Result
    ) async throws -> Result {
        try await loop.submit { body(lanes) }.get()
    }
}

extension Duration {
    /// As a number of seconds.
    var seconds: Double { self / .seconds(1) }
}
