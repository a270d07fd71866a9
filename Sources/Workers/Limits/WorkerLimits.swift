import CFunctionsSystem
package import FunctionManifest
import WorkerProtocol
import NIOCore

/// What a worker may use, its child processes included.
package struct WorkerLimits: Equatable, Sendable {
    /// Bytes of memory of its own.
    var memory: Int
    /// Processes, itself among them.
    var processes = 32
    var openFiles = 1024
    /// Bytes of an answer that isn't streamed.
    var responseBody = Frame.maxAnswer
    /// Processors; a share of the machine's where it is short of them.
    var cpu = 1.0

    package init(memory: Int) { self.memory = memory }

    /// Has the kernel hold the process, and all that it will start, to what it can count by itself.
    ///
    /// They can be lowered further by the process and never raised again, so it is enough that they hold before the worker
    /// is given its first invocation.
    package func apply(to pid: Int32) {
        #if os(Linux)
            _ = functions_limit_process(pid, FUNCTIONS_LIMIT_OPEN_FILES, UInt64(openFiles))
            _ = functions_limit_process(pid, FUNCTIONS_LIMIT_DATA, UInt64(dataBackstop))
        #endif
    }

    /// A bound on what a process may map and write, resident or not: for a burst that is over between two looks at its
    /// memory.
    ///
    /// It lies well above the limit. A thread's stack takes 8 MiB of it whether or not it is used, and Dispatch may start
    /// a thread more for each one that blocks; an allocator reserves more than it hands out.
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
