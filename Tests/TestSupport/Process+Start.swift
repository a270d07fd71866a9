package import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

extension Process {
    /// Runs the process, as `run()` does.
    ///
    /// Foundation looks through `/proc/self/fd` and copies whole entries of its directory, also the last ones in a buffer, and so
    /// reads beyond the buffer. With more than a thousand open descriptors and a buffer at the end of the memory that the
    /// allocator has from the system, nothing is there, and the tests would crash. So there are free blocks for the buffer that
    /// have others behind them.
    ///
    /// One process at a time: Foundation closes in it what was open when it looked. Of a process that another thread begins
    /// meanwhile, it would get the socket that tells of that one's end, which then isn't noticed before this one ends, too.
    package func start() throws { try Self.starting.withLock { _ in try startAlone() } }

    private static let starting = Mutex(())

    /// Whether the process has ended, as the kernel says: Foundation has been seen to notice it minutes later.
    package var hasEnded: Bool {
        var info = siginfo_t()
        // Foundation reaps it.
        return waitid(P_PID, id_t(processIdentifier), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_signo != 0
    }

    private func startAlone() throws {
        #if canImport(Glibc)
            let (blocks, neighbors) = (0..<Self.blocks).reduce(
                into: ([UnsafeMutableRawPointer?](), [UnsafeMutableRawPointer?]())
            ) { pointers, _ in
                pointers.0.append(malloc(Self.blockSize))
                pointers.1.append(malloc(Self.neighborSize))
            }
            for block in blocks { free(block) }
            defer { for neighbor in neighbors { free(neighbor) } }
        #endif
        try run()
    }

    #if canImport(Glibc)
        /// Other threads may take some.
        private static let blocks = 16
        /// A directory's buffer with its head.
        private static let blockSize = 33_000
        /// More than an entry.
        private static let neighborSize = 4_096
    #endif
}
