#if os(Linux)
    import Foundation
    import HostProcess
    import Testing

    struct ProcessLimitsTests {
        /// Of this thread, in nanoseconds, as the kernel says; nil if it doesn't.
        private var turn: Int? {
            let text = try? String(contentsOfFile: "/proc/thread-self/sched", encoding: .utf8)
            let line = text?.split(separator: "\n").first { $0.hasPrefix("se.slice") }
            return line?.split(separator: " ").last.flatMap { Int($0) }
        }

        @Test func threadsTakeShortTurns() {
            ProcessLimits.runInShortTurns()
            // Kernels before 6.12 have no turns of a thread's own.
            guard let turn = turn else { return }
            #expect(turn == 100_000)
        }
    }
#endif
