#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The host's own cgroup (version 2), in which each worker gets a group.
///
/// A group that contains processes can't delegate its controllers, so the host moves into a group below its own. It
/// must be alone in its group and be allowed to write to it, as with systemd's `Delegate=yes` or in a container.
package struct CgroupHome: Sendable {
    /// The directory that groups are created in.
    package let path: String
    private let controllers: [String]
    /// The controllers that weren't delegated before this host delegated them.
    private let added: [String]
    private let host: Int32

    /// The reason why workers get no groups.
    package struct Refusal: Error, CustomStringConvertible {
        package var description: String
    }

    static let controllers = ["cpu", "memory", "pids"]
    private static let workerPrefix = "functions-worker-"
    private static let hostPrefix = "functions-host-"

    /// Moves this process into a group of its own and removes what a killed host has left behind.
    ///
    /// - Parameters:
    ///   - path: this process's cgroup.
    ///   - host: this process.
    init(
        at path: String, controllers: [String] = Self.controllers, host: Int32 = getpid()
    ) throws(Refusal) {
        self.path = path
        self.controllers = controllers
        self.host = host
        let there = Set((CgroupFile.read(path + "/cgroup.controllers") ?? "").split(whereSeparator: \.isWhitespace))
        let missing = controllers.filter { !there.contains(Substring($0)) }
        guard missing.isEmpty else {
            throw Refusal(description: "\(path) has no \(missing.joined(separator: ", ")) controller")
        }
        let before = (CgroupFile.read(path + "/cgroup.subtree_control") ?? "").split(whereSeparator: \.isWhitespace)
        added = controllers.filter { !before.contains(Substring($0)) }
        removeLeftovers()
        let place = path + "/" + own
        guard mkdir(place, 0o755) == 0 || errno == EEXIST else {
            throw Refusal(description: "\(place) can't be made: \(String(cString: strerror(errno)))")
        }
        guard CgroupFile.write("\(host)", to: place + "/cgroup.procs") else {
            let reason = String(cString: strerror(errno))
            rmdir(place)
            throw Refusal(description: "the host can't move to \(place): \(reason)")
        }
        guard handDown(added, "+") else {
            let reason = String(cString: strerror(errno))
            leave()
            throw Refusal(
                description: "\(path) can't hand its controllers down, as the host isn't alone in it: \(reason)")
        }
    }

    /// A group for one worker.
    func makeGroup(_ name: String, _ limits: WorkerLimits) throws(Refusal) -> WorkerCgroup {
        let group = WorkerCgroup(path: "\(path)/\(Self.workerPrefix)\(host)-\(name)", limits: limits)
        try group.make(controllers)
        return group
    }

    /// Moves this process back into its original group. The workers' groups must be gone.
    ///
    /// Controllers that this host hasn't delegated stay, and so do those that another host in the same cgroup now uses:
    /// its workers would lose their limits. The kernel may then keep the process in its own group, which ends with it.
    func close() {
        let others = CgroupFile.directories(in: path).filter { $0.hasPrefix(Self.hostPrefix) && $0 != own }
        if others.isEmpty { _ = handDown(added, "-") }
        leave()
    }

    private func leave() {
        _ = CgroupFile.write("\(host)", to: path + "/cgroup.procs")
        rmdir(path + "/" + own)
    }

    private var own: String { Self.hostPrefix + "\(host)" }

    private func handDown(_ controllers: [String], _ sign: String) -> Bool {
        controllers.isEmpty
            || CgroupFile.write(
                controllers.map { sign + $0 }.joined(separator: " "), to: path + "/cgroup.subtree_control")
    }

    /// The names of groups show which host they belong to.
    private func removeLeftovers() {
        for name in CgroupFile.directories(in: path) {
            guard name.hasPrefix(Self.workerPrefix) || name.hasPrefix(Self.hostPrefix),
                let owner = name.split(separator: "-").dropFirst(2).first.flatMap({ Int32($0) }),
                owner == host || kill(owner, 0) != 0 && errno == ESRCH
            else { continue }
            _ = CgroupFile.write("1", to: "\(path)/\(name)/cgroup.kill")
            // A killed process takes a moment to disappear.
            var attempts = 100
            while rmdir("\(path)/\(name)") != 0, errno == EBUSY, attempts > 0 {
                attempts -= 1
                usleep(1000)
            }
        }
    }
}

extension CgroupHome {
    /// The host's own cgroup.
    /// - Throws: the reason why there is none that it may use.
    package static func own() throws(Refusal) -> CgroupHome {
        #if os(Linux)
            guard let mounts = CgroupFile.read("/proc/self/mountinfo"),
                let groups = CgroupFile.read("/proc/self/cgroup")
            else { throw Refusal(description: "/proc can't be read") }
            return try CgroupHome(at: try path(mounts: mounts, groups: groups))
        #else
            throw Refusal(description: "only Linux has cgroups")
        #endif
    }

    /// The directory of a process's cgroup of version 2.
    /// - Parameters:
    ///   - mounts: its `mountinfo`.
    ///   - groups: its `cgroup`.
    static func path(mounts: String, groups: String) throws(Refusal) -> String {
        guard let group = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })?.dropFirst(3) else {
            throw Refusal(description: "the system has no cgroups of version 2")
        }
        for line in mounts.split(separator: "\n") {
            // Of the fields before " - ", the fourth is the mounted directory and the fifth its mount point.
            guard let separator = line.firstRange(of: " - "),
                line[separator.upperBound...].hasPrefix("cgroup2 ")
            else { continue }
            let fields = line[..<separator.lowerBound].split(separator: " ")
            guard fields.count > 4 else { continue }
            let root = fields[3] == "/" ? "" : fields[3]
            guard group.hasPrefix(root) else { continue }
            let rest = group.dropFirst(root.count)
            return rest == "/" || rest.isEmpty ? String(fields[4]) : String(fields[4] + rest)
        }
        throw Refusal(description: "no cgroups of version 2 are mounted")
    }
}
