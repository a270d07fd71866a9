package import NIOCore

/// Calls back at a later time. In tests, the test moves the time.
package protocol EventTimer: Sendable {
    func schedule(afterSeconds seconds: Double, _ action: @escaping @Sendable () -> Void)
}

package struct LoopTimer: EventTimer {
    package let eventLoop: any EventLoop

    package init(eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    package func schedule(afterSeconds seconds: Double, _ action: @escaping @Sendable () -> Void) {
        eventLoop.scheduleTask(in: .nanoseconds(Int64(max(seconds, 0) * 1e9)), action)
    }
}
