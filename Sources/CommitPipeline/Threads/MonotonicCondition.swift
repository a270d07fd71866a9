#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A lock whose holder can wait for a change, as with `NSCondition`; but it waits by a clock that can't be set: a thread
/// that is to work in some seconds doesn't sleep for hours because the system's time was put back.
///
/// `@unchecked Sendable`: its pointers are constants.
public final class MonotonicCondition: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    public init() {
        pthread_mutex_init(mutex, nil)
        #if os(Linux)
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        #else
            pthread_cond_init(condition, nil)
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    public func lock() { pthread_mutex_lock(mutex) }

    public func unlock() { pthread_mutex_unlock(mutex) }

    /// Wakes one thread that waits.
    public func signal() { pthread_cond_signal(condition) }

    /// Wakes all threads that wait.
    public func broadcast() { pthread_cond_broadcast(condition) }

    /// Waits for a change. Called with the lock held, which others may take meanwhile.
    public func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits for a change until a time.
    ///
    /// - Returns: false once the time has come.
    public func wait(until end: ContinuousClock.Instant) -> Bool {
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { return false }
        let (seconds, attoseconds) = left.components
        var time = timespec()
        #if os(Linux)
            clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
        time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
        #if os(Linux)
            return pthread_cond_timedwait(condition, mutex, &time) == 0
        #else
            return pthread_cond_timedwait_relative_np(condition, mutex, &time) == 0
        #endif
    }
}
