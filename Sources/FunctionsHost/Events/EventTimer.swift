import NIOCore

/// Calls back later. In tests time is moved by hand.
protocol EventTimer: Sendable {
    func schedule(afterSeconds seconds: Double, _ action: @escaping @Sendable () -> Void)
}

struct LoopTimer: EventTimer {
    let eventLoop: any EventLoop

    func schedule(afterSeconds seconds: Double, _ action: @escaping @Sendable () -> Void) {
        eventLoop.scheduleTask(in: .nanoseconds(Int64(max(seconds, 0) * 1e9)), action)
    }
}
