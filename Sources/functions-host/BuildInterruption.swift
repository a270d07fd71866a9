import Foundation
import Synchronization
import Workers

/// Ends a run of the package manager from another thread, as when the host stops.
final class BuildInterruption: Sendable {
    private enum State {
        case idle
        case running(Int32)
        case interrupted
    }

    private let state = Mutex(State.idle)
    /// The process of each run.
    private static let running = Mutex<Set<Int32>>([])

    /// Interrupts all runs of this process, which is about to end.
    static func interruptAll() { running.withLock { for pid in $0 { _ = kill(pid, SIGINT) } } }

    /// As Ctrl-C in a terminal does: the package manager ends what it has started, too. A run that begins later is ended at
    /// once.
    func interrupt() {
        state.withLock { state in
            if case .running(let pid) = state { _ = kill(pid, SIGINT) }
            state = .interrupted
        }
    }

    /// Starts the process of a run, one at a time.
    func start(_ spawn: ProcessSpawn) throws(ProcessSpawn.Failure) -> Int32 {
        let pid = try Self.running.withLock { running throws(ProcessSpawn.Failure) in
            let pid = try spawn.start()
            running.insert(pid)
            return pid
        }
        state.withLock { state in
            guard case .interrupted = state else {
                state = .running(pid)
                return
            }
            _ = kill(pid, SIGINT)
        }
        return pid
    }

    /// Blocks until the process has ended.
    func waitForEnd(of pid: Int32) -> ProcessStatus.Outcome {
        // First without reaping: until then no other process gets the id.
        var info = siginfo_t()
        while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return state.withLock { state in
            if case .running = state { state = .idle }
            return Self.running.withLock { running in
                running.remove(pid)
                return Self.reap(pid)
            }
        }
    }

    private static func reap(_ pid: Int32) -> ProcessStatus.Outcome {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            // Where SIGCHLD is ignored, how it has ended isn't known.
            guard errno == EINTR else { return .exited(1) }
        }
        ProcessSpawn.wasReaped(pid)
        let signal = status & 0x7F
        return signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }
}
