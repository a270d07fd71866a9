#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The cgroup of one worker and of all processes that it starts.
struct WorkerCgroup: Sendable {
    let path: String
    let limits: WorkerLimits

    /// Threads count like processes here: room for the threads of a worker's processes.
    private static let threads = 1024

    func make(_ controllers: [String]) throws(CgroupHome.Refusal) {
        guard mkdir(path, 0o755) == 0 else { throw refusal("can't be made") }
        // A worker that loses one of its processes can't serve: the kernel kills the whole group.
        var settings: [(file: String, value: String)] = []
        if controllers.contains("memory") {
            settings += [("memory.max", "\(limits.memory)"), ("memory.oom.group", "1")]
        }
        if controllers.contains("pids") { settings.append(("pids.max", "\(limits.processes + Self.threads)")) }
        if controllers.contains("cpu") { settings.append(("cpu.weight", "\(weight)")) }
        for setting in settings where !CgroupFile.write(setting.value, to: path + "/" + setting.file) {
            let refusal = refusal("refuses \(setting.file)")
            rmdir(path)
            throw refusal
        }
        // A system without swap doesn't have this file.
        if controllers.contains("memory") { _ = CgroupFile.write("0", to: path + "/memory.swap.max") }
    }

    /// Each processor counts like the default weight of a group.
    private var weight: Int { min(10_000, max(1, Int(limits.cpu * 100))) }

    func add(_ pid: Int32) throws(CgroupHome.Refusal) {
        guard CgroupFile.write("\(pid)", to: path + "/cgroup.procs") else { throw refusal("takes no process") }
    }

    /// The worker's end if the kernel killed it for its memory; otherwise nil.
    var end: WorkerEnd? {
        guard let events = CgroupFile.read(path + "/memory.events") else { return nil }
        let kills = events.split(separator: "\n").first { $0.hasPrefix("oom_kill ") }?.dropFirst(9)
        guard let kills, let count = Int(kills), count > 0 else { return nil }
        let peak = CgroupFile.read(path + "/memory.peak").flatMap { Int($0.prefix { $0.isNumber }) }
        return .memory(used: max(peak ?? 0, limits.memory), limit: limits.memory)
    }

    /// Kills all processes in the group.
    func kill() { _ = CgroupFile.write("1", to: path + "/cgroup.kill") }

    /// - Returns: false if a process in the group is still ending.
    func remove() -> Bool { rmdir(path) == 0 || errno == ENOENT }

    private func refusal(_ what: String) -> CgroupHome.Refusal {
        CgroupHome.Refusal(description: "\(path) \(what): \(String(cString: strerror(errno)))")
    }
}

/// The files that control a cgroup.
enum CgroupFile {
    static func read(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = pread(descriptor, &part, part.count, off_t(bytes.count))
            guard count > 0 else { return count == 0 ? String(decoding: bytes, as: UTF8.self) : nil }
            bytes += part[..<count]
        }
    }

    /// - Returns: whether the kernel has accepted it; `errno` has the reason.
    static func write(_ text: String, to path: String) -> Bool {
        // Files can't be created in a cgroup, so O_CREAT only makes a missing file an error.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        return pwrite(descriptor, bytes, bytes.count, 0) == bytes.count
    }

    static func directories(in path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            guard entry.pointee.d_type == UInt8(DT_DIR) else { continue }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}
