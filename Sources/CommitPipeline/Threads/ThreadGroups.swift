import CFunctionsSystem
package import Sharing
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Groups of threads by name.
package struct ThreadGroups: Sendable {
    private var latches: [String: Latch] = [:]

    package init() {}

    /// - Parameters:
    ///   - isBackground: whether the thread gets less of the processors where others want them too.
    ///   - stackSize: in bytes. Decoding handles values that nest up to 64 deep.
    /// - Throws: if the system refuses the thread.
    package mutating func start(
        _ name: String, isBackground: Bool = false, stackSize: Int = 2 << 20, _ body: @escaping @Sendable () -> Void
    ) throws(SystemThread.Refused) {
        let latch = latches[name] ?? Latch()
        latches[name] = latch
        latch.enter()
        let work = Work(body)
        do throws(SystemThread.Refused) {
            try SystemThread.start(name, stackSize: stackSize) {
                if isBackground {
                    functions_begin_long_work()
                    Self.yieldToOthers()
                }
                // Releases what the body holds, such as a connection, before the thread counts as ended.
                work.take()?()
                latch.leave()
            }
        } catch {
            latch.leave()
            throw error
        }
    }

    /// On Linux each thread has a priority of its own, which threads that it starts inherit: see ``CompletionThread``.
    private static func yieldToOthers() {
        #if os(Linux)
            // PRIO_PROCESS, whose type differs between C libraries, for this thread.
            _ = setpriority(0, 0, 10)
        #else
            _ = pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
        #endif
    }

    /// A latch that opens once all threads of a name have ended.
    package func end(of name: String) -> Latch { latches[name] ?? Latch() }
}

/// A thread's body, held until the thread has begun: the thread holds its closure for longer than that runs.
private final class Work: Sendable {
    private let body: Mutex<(@Sendable () -> Void)?>

    init(_ body: @escaping @Sendable () -> Void) { self.body = Mutex(body) }

    func take() -> (@Sendable () -> Void)? { body.withLock { $0.take() } }
}

/// Waits until all that entered have left.
package final class Latch: Sendable {
    private struct State {
        var inside = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func enter() { state.withLock { $0.inside += 1 } }

    func leave() {
        let waiters = state.withLock { state in
            state.inside -= 1
            guard state.inside == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    package func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.inside > 0 { state.waiters.append(continuation) }
                return state.inside == 0
            }
            if isOver { continuation.resume() }
        }
    }
}
