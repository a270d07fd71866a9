package import CFunctionsSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Starts a program with exactly the given file descriptors.
package struct ProcessSpawn {
    package var executable: String
    package var arguments: [String]
    package var environment: [String: String]
    package var standardOutput: Int32
    package var standardError: Int32
    /// They become descriptors 3, 4, … of the new process.
    package var links: [Int32]
    /// Whether the process leads a group of its own. Else it is in this process's, which a terminal's signals reach.
    package var hasOwnGroup: Bool

    package init(
        executable: String, arguments: [String], environment: [String: String], standardOutput: Int32,
        standardError: Int32, links: [Int32], hasOwnGroup: Bool = true
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.standardOutput = standardOutput
        self.standardError = standardError
        self.links = links
        self.hasOwnGroup = hasOwnGroup
    }

    package struct Failure: Error, CustomStringConvertible {
        var executable: String
        var code: Int32

        package var description: String { "\(executable) can't be started: \(reason)" }

        /// The reason without the executable's path.
        package var reason: String {
            let reason = String(cString: strerror(code))
            return switch code {
            case ENOENT where access(executable, F_OK) == 0:
                "\(reason): the loader or interpreter that it names isn't on this machine; build it for this system"
            case ENOEXEC: "\(reason): it isn't a program for this machine"
            default: reason
            }
        }
    }

    /// - Returns: the process id, which is also that of its process group if it has its own.
    package func start() throws(Failure) -> pid_t {
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t? = nil
            var attributes: posix_spawnattr_t? = nil
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        // Descriptors are first moved to free numbers: a link may have a number that another one needs.
        let base = (links + [standardOutput, standardError]).reduce(3 + Int32(links.count)) { max($0, $1 + 1) }
        let sources = [standardOutput, standardError] + links
        for (offset, source) in sources.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, source, base + Int32(offset))
        }
        for offset in sources.indices {
            posix_spawn_file_actions_adddup2(&actions, base + Int32(offset), Int32(offset) + 1)
        }
        var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        if hasOwnGroup { flags |= Int32(POSIX_SPAWN_SETPGROUP) }
        #if os(Linux)
            _ = functions_spawn_close_from(&actions, 3 + Int32(links.count))
        #else
            // All descriptors that the actions don't name are closed.
            flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #endif
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        sigdelset(&signals, SIGKILL)
        sigdelset(&signals, SIGSTOP)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let argumentList = ([executable] + arguments).map { strdup($0) } + [nil]
        let environmentList = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in argumentList + environmentList { free(text) } }
        var pid: pid_t = 0
        let code = Self.children.withLock { children in
            let code = posix_spawn(&pid, executable, &actions, &attributes, argumentList, environmentList)
            if code == 0 { children.insert(pid) }
            return code
        }
        guard code == 0 else { throw Failure(executable: executable, code: code) }
        return pid
    }
}

extension ProcessSpawn {
    /// The processes that were started here and not reaped yet.
    ///
    /// Locked while one is started, so that it is never taken for an orphan, however soon it ends.
    fileprivate static let children = Mutex<Set<pid_t>>([])

    /// A started process was reaped in another way than by ``ProcessStatus/reap(_:)``.
    package static func wasReaped(_ pid: pid_t) { children.withLock { _ = $0.remove(pid) } }

    /// Reaps a child that has ended and wasn't started here: a process that was left to this one.
    ///
    /// - Returns: whether it was reaped.
    static func reapOrphan(_ pid: pid_t) -> Bool {
        children.withLock { !$0.contains(pid) && waitpid(pid, nil, WNOHANG) == pid }
    }

    /// Kills a started process and all processes of its group.
    package static func killGroup(_ pid: pid_t) { _ = kill(-pid, SIGKILL) }
}

extension ProcessStatus {
    /// The status of a child that has ended; nil while it runs. Processes that it started are killed with it.
    package static func reap(_ pid: pid_t) -> ProcessStatus? {
        // First without reaping: while the child is a zombie, its id can't be reused for another process or group.
        var info = siginfo_t()
        guard waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0, info.si_signo == SIGCHLD else {
            return nil
        }
        ProcessSpawn.killGroup(pid)
        var status: Int32 = 0
        var usage = rusage()
        let isReaped = ProcessSpawn.children.withLock { children in
            guard wait4(pid, &status, WNOHANG, &usage) == pid else { return false }
            children.remove(pid)
            return true
        }
        guard isReaped else { return nil }
        func microseconds(_ time: timeval) -> Int64 { Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_usec) }
        let signal = status & 0x7F
        return ProcessStatus(
            outcome: signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal),
            cpuMicroseconds: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
            maxResidentKiB: Int64(usage.ru_maxrss))
    }
}

/// The system's function, which that of ``DescriptorPair`` with the same name hides.
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }

/// A pair of descriptors, closed on exec in this process: a child only gets what it is given explicitly.
package enum DescriptorPair {
    /// Both ends of a connected stream socket.
    static func socket() throws(ProcessSpawn.Failure) -> (Int32, Int32) {
        var pair: [Int32] = [0, 0]
        #if os(Linux)
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else {
            throw ProcessSpawn.Failure(executable: "socketpair", code: errno)
        }
        closeOnExec(pair)
        return (pair[0], pair[1])
    }

    /// The reading and the writing end of a pipe.
    package static func pipe() throws(ProcessSpawn.Failure) -> (read: Int32, write: Int32) {
        var pair: [Int32] = [0, 0]
        #if os(Linux)
            let result = functions_pipe(&pair)
        #else
            let result = Darwin.pipe(&pair)
        #endif
        guard result == 0 else { throw ProcessSpawn.Failure(executable: "pipe", code: errno) }
        closeOnExec(pair)
        return (pair[0], pair[1])
    }

    package static func close(_ descriptor: Int32) { systemClose(descriptor) }

    private static func closeOnExec(_ descriptors: [Int32]) {
        #if !os(Linux)
            for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        #endif
    }
}
