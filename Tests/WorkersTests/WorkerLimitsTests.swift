@testable import Workers

#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    struct WorkerLimitsTests {
        private func adjustment(_ process: String) -> Int? {
            CgroupFile.read("/proc/\(process)/oom_score_adj").flatMap { Int($0.prefix { !$0.isNewline }) }
        }

        /// The host has the data of all functions, and often more memory than each worker.
        @Test func aMachineWithoutMemoryEndsWorkersBeforeTheirHost() throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sleep")
            process.arguments = ["1000"]
            try process.start()
            let pid = process.processIdentifier
            defer {
                kill(pid, SIGKILL)
                process.waitUntilExit()
            }
            let own = try #require(adjustment("self"))
            #expect(adjustment("\(pid)") == own)
            WorkerLimits(memory: 1 << 27).apply(to: pid)
            #expect(adjustment("\(pid)") == min(1000, own + 500))
        }
    }
#endif
