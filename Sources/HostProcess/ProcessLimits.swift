import CFunctionsSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The operating system's limits of the host's process.
package enum ProcessLimits {
    /// Opens `/dev/null` in place of a standard input, output or error that is closed: a file of the store that is opened
    /// later would get its number, and what is printed would be written to it. Call before anything is opened.
    package static func openStandardFiles() {
        for descriptor: Int32 in [0, 1, 2] where fcntl(descriptor, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
    }

    /// Whether this is process 1, as in a container: what other processes leave behind becomes its children.
    package static var isFirstProcess: Bool { getpid() == 1 }

    /// Raises the limit of open files to the maximum that the system allows, so that it bounds connections and
    /// workers as little as possible.
    package static func raiseOpenFiles() {
        var limit = rlimit()
        guard getrlimit(openFiles, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(openFiles, &limit)
    }

    /// How many files the process must be able to have open: its own, which are many before the first connection,
    /// and some connections.
    private static let fewestFiles = 160

    /// Call once the limit is raised, and before anything needs a file: with too few, event loops end the process,
    /// and other parts wait for files for ever.
    ///
    /// - Throws: an error for the operator if the limit of open files is too low to serve anything.
    package static func requireOpenFiles() throws(HostError) {
        var limit = rlimit()
        guard getrlimit(openFiles, &limit) == 0 else { return }
        try require(files: Int(clamping: limit.rlim_cur))
    }

    package static func require(files: Int) throws(HostError) {
        guard files < fewestFiles else { return }
        throw HostError(
            "the system lets this process have \(files) files open at once; \(fewestFiles) are needed at least. "
                + "Raise the limit, such as with ulimit -n 1024, or LimitNOFILE=1024 in a unit of systemd")
    }

    /// How many connections the process may accept. The system lets it have so many files, of which some are left for the
    /// store, for workers and for what the host connects to: clients could take them all otherwise, and nothing would work
    /// until they left. Call once the limit is raised.
    package static var connections: Int {
        var limit = rlimit()
        return getrlimit(openFiles, &limit) == 0 ? connections(ofFiles: Int(clamping: limit.rlim_cur)) : .max
    }

    package static func connections(ofFiles files: Int) -> Int { max(1, files - min(max(files / 4, 128), 4096)) }

    #if canImport(Glibc)
        private static var openFiles: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
        private static var openFiles: Int32 { RLIMIT_NOFILE }
    #endif

    /// Lets the allocator return freed memory to the system sooner. Call at the start.
    package static func returnFreedMemory() { functions_return_freed_memory() }

    /// Returns freed memory that lies between what is in use, if it is much. For one caller at a time.
    package static func trimFreedMemory() { functions_trim_freed_memory(64 << 20) }

    /// Takes program pages out of the resident memory, most of which only the start has needed. Others come back when they
    /// are needed.
    package static func releaseProgramPages() { functions_release_program_pages() }

    /// Lets threads take shorter turns on a busy machine, and workers too, so that short requests wait less for long ones.
    /// Call at the start.
    package static func runInShortTurns() { functions_run_in_short_turns() }

    /// Writes each line of standard output at once, also into a pipe. Call before anything is printed.
    package static func writeOutputByLine() { functions_write_output_by_line() }

    /// Disables core dumps of the host and of workers that it starts, because their memory contains secrets. Workers,
    /// which run as the same user, can't read the host's memory and environment afterwards either.
    package static func forbidCoreDumps() { functions_forbid_core_dumps() }
}
