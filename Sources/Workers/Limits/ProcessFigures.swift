import CFunctionsSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The system's figures of a process; none on systems other than Linux.
enum ProcessFigures {
    /// Bytes of memory that are the process's own: what it has allocated and written, its stacks, and shared memory
    /// that it has mapped, if that is much.
    ///
    /// The program and its libraries, mapped files and swapped-out memory don't count. Nil for a process that isn't
    /// there.
    static func memory(_ pid: Int32) -> Int? {
        guard let text = read("/proc/\(pid)/statm", atMost: 128) else { return nil }
        // Pages: size, resident, shared, …
        let fields = text.split(separator: UInt8(ascii: " "), maxSplits: 3)
        guard fields.count > 2, let resident = number(fields[1]), let shared = number(fields[2]) else { return nil }
        let own = max(0, resident - shared) * pageSize
        guard shared * pageSize > usualShared else { return own }
        // There, files and shared memory are one number.
        let status = read("/proc/\(pid)/status", atMost: 8192)
        return own + (status.flatMap { bytes("RssShmem:", in: $0) } ?? 0)
    }

    /// Pages of programs and their libraries are mostly fewer. Finding out what they are takes several times as long.
    private static let usualShared = 32 << 20

    /// Like ``memory(_:)``, plus an equal share of what several processes share, as a process does with one that it
    /// forked. This reads all of the process's page tables.
    static func proportionalMemory(_ pid: Int32) -> Int? {
        proportionalMemory(pid, rollup: read("/proc/\(pid)/smaps_rollup", atMost: 4096))
    }

    /// - Parameter rollup: the process's `smaps_rollup`; nil if it can't be read. A process can cause that: if it isn't
    ///   dumpable, only a privileged host may read the file.
    static func proportionalMemory(_ pid: Int32, rollup: [UInt8]?) -> Int? {
        // Kernels before 5.9 don't have these lines either. What is shared then counts for each of its processes.
        guard let rollup, let anonymous = bytes("Pss_Anon:", in: rollup) else { return memory(pid) }
        return anonymous + (bytes("Pss_Shmem:", in: rollup) ?? 0)
    }

    /// The largest resident size that this process ever had, in KiB.
    static var ownMaxResidentKiB: Int64 {
        var usage = rusage()
        #if os(Linux)
            // RUSAGE_SELF, whose type differs between C libraries.
            let result = getrusage(0, &usage)
            return result == 0 ? Int64(usage.ru_maxrss) : 0
        #else
            return 0
        #endif
    }

    /// How many descriptors the process has open; nil with kernels before 6.2, which don't count them.
    static func openFiles(_ pid: Int32) -> Int? {
        #if os(Linux)
            let count = functions_file_size("/proc/\(pid)/fd")
            return count > 0 ? Int(count) : nil
        #else
            return nil
        #endif
    }

    /// A process's parent and start time.
    struct Descent: Equatable {
        var parent: Int32
        var group: Int32
        /// Ticks since the system's start. They distinguish the process from a later one with the same id.
        var startedAt: Int
    }

    static func descent(_ pid: Int32) -> Descent? {
        guard let text = read("/proc/\(pid)/stat", atMost: 1024),
            // The program's name is in parentheses and may contain anything.
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "), maxSplits: 21)
        guard fields.count > 19, let parent = number(fields[1]), let group = number(fields[2]),
            let startedAt = number(fields[19])
        else { return nil }
        return Descent(parent: Int32(clamping: parent), group: Int32(clamping: group), startedAt: startedAt)
    }

    /// The ids of all processes.
    static func all() -> [Int32] {
        #if os(Linux)
            guard let directory = opendir("/proc") else { return [] }
            defer { closedir(directory) }
            var ids: [Int32] = []
            while let entry = readdir(directory) {
                let id = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 1) { name in
                        (48...57).contains(name[0]) ? Int32(atoi(name)) : nil
                    }
                }
                if let id { ids.append(id) }
            }
            return ids
        #else
            return []
        #endif
    }

    // MARK: Parts

    private static let pageSize: Int = {
        #if os(Linux)
            Int(sysconf(Int32(_SC_PAGESIZE)))
        #else
            4096
        #endif
    }()

    private static func read(_ path: String, atMost size: Int) -> [UInt8]? {
        #if os(Linux)
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: size)
            let count = pread(descriptor, &bytes, size, 0)
            guard count > 0 else { return nil }
            return Array(bytes[..<count])
        #else
            return nil
        #endif
    }

    /// Reads a line such as `RssShmem:      12 kB`.
    private static func bytes(_ name: String, in text: [UInt8]) -> Int? {
        for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: name.utf8) {
            let digits = line.filter { (48...57).contains($0) }
            return number(digits[...]).map { $0 << 10 }
        }
        return nil
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        Int(String(decoding: digits, as: UTF8.self))
    }
}
