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
            // Before 6.12 threads have no turns of their own, and not every kernel shows them.
            let kernel = ProcessInfo.processInfo.operatingSystemVersion
            guard (kernel.majorVersion, kernel.minorVersion) >= (6, 12), let turn else { return }
            #expect(turn == 100_000)
        }

        @Test(arguments: [(64, 1), (256, 128), (1024, 768), (20_000, 15_904), (1 << 20, 1_044_480)])
        func connectionsLeaveFilesForTheRest(files: Int, connections: Int) {
            #expect(ProcessLimits.connections(ofFiles: files) == connections)
        }

        @Test func tooFewFilesAreNamedWithWhatIsNeeded() throws {
            let error = #expect(throws: HostError.self) { try ProcessLimits.require(files: 32) }
            #expect(error?.description.contains("32 files") == true)
            #expect(error?.description.contains("160") == true)
            #expect(throws: Never.self) { try ProcessLimits.require(files: 160) }
            #expect(throws: Never.self) { try ProcessLimits.require(files: .max) }
        }

        /// Kilobytes of mapped files that are in memory.
        private func fileBytes() throws -> Int {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("RssFile:") }
            return try #require(line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
        }

        @Test func programPagesComeBackWhenTheyAreNeeded() throws {
            // Other tests need some of them meanwhile.
            let released = try (0..<50).contains { _ in
                let before = try fileBytes()
                ProcessLimits.releaseProgramPages()
                #expect([3, 1, 2].sorted().map { "\($0)" }.joined() == "123")
                return try fileBytes() < before
            }
            #expect(released)
        }
    }
#endif
