import CFunctionsSystem
package import FunctionManifest
import WorkerProtocol
import NIOCore

/// What a worker may use, including its child processes.
package struct WorkerLimits: Equatable, Sendable {
    /// Bytes of memory of its own.
    var memory: Int
    /// The number of processes, including itself.
    var processes = 32
    var openFiles = 1024
    /// Bytes of an answer that isn't streamed.
    var responseBody = Frame.maxAnswer
    /// Processors; a share of them if the machine is busy.
    var cpu = 1.0

    package init(memory: Int) { self.memory = memory }

    /// Applies the limits that the kernel enforces to the process and all that it will start.
    ///
    /// A process can lower these limits but never raise them, so it is enough to apply them before the worker gets its
    /// first invocation.
    package func apply(to pid: Int32) {
        #if os(Linux)
            _ = functions_limit_process(pid, FUNCTIONS_LIMIT_OPEN_FILES, UInt64(openFiles))
            _ = functions_limit_process(pid, FUNCTIONS_LIMIT_DATA, UInt64(dataBackstop))
            preferToHost(pid)
        #endif
    }

    /// Makes the kernel end the process rather than the host if the machine has no memory left: it looks for the
    /// largest one, which would often be the host. It isn't a limit: a process may take it back.
    private func preferToHost(_ pid: Int32) {
        let own = CgroupFile.read("/proc/self/oom_score_adj").flatMap { Int($0.prefix { !$0.isNewline }) } ?? 0
        _ = CgroupFile.write("\(min(1000, own + Self.preference))", to: "/proc/\(pid)/oom_score_adj")
    }

    /// In thousandths of the machine's memory: as if a worker had so much more.
    private static let preference = 500

    /// A bound on the writable memory that a process may map, resident or not, for bursts between two samples.
    ///
    /// It is well above the limit. Each thread's stack takes 8 MiB of it, used or not; Dispatch may start one more
    /// thread for each one that blocks; and an allocator reserves more than it hands out.
    private var dataBackstop: Int { 2 * memory + (1 << 30) + System.coreCount * (16 << 20) }
}

extension WorkerLimits {
    /// - Parameter limits: the operator's, for all functions.
    package init(_ manifest: FunctionManifest, _ limits: HostLimits) {
        memory = manifest.memoryMiB << 20
        processes = limits.processes
        openFiles = limits.openFiles
        responseBody = limits.responseBody
        cpu = manifest.cpu
    }
}
