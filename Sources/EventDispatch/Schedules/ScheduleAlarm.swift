package import NIOCore
import Synchronization

/// Fires once at a time. Setting it again replaces the time.
package protocol ScheduleAlarm: Sendable {
    func set(after time: Duration, _ ring: @escaping @Sendable () -> Void)
}

/// An alarm on an event loop's clock, which never goes back. It ends with the loop; it doesn't cancel its timer then,
/// because the loop accepts no calls any more.
package final class EventLoopAlarm: ScheduleAlarm {
    private let eventLoop: any EventLoop
    private let scheduled = Mutex<Scheduled<Void>?>(nil)

    package init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    package func set(after time: Duration, _ ring: @escaping @Sendable () -> Void) {
        let next = eventLoop.scheduleTask(in: TimeAmount(time), ring)
        let last = scheduled.withLock { scheduled in
            defer { scheduled = next }
            return scheduled
        }
        last?.cancel()
    }
}
