import TestSupport
@testable import Workers
import Foundation
import Testing

/// Cgroups as files: what is written where. Whether the kernel does it is seen where it lets this user try.
struct CgroupTests {
    private func limits() -> WorkerLimits {
        var limits = WorkerLimits(memory: 128 << 20)
        limits.processes = 5
        limits.cpu = 2
        return limits
    }

    private func home() throws -> (TemporaryDirectory, CgroupHome) {
        let directory = try TemporaryDirectory()
        try directory.write("cgroup.controllers", "cpuset cpu io memory pids\n")
        return (directory, try CgroupHome(at: directory.path, host: 77))
    }

    @Test func theHostMovesAsideAndHandsItsControllersDown() throws {
        let (directory, _) = try home()
        #expect(CgroupFile.read(directory.file("functions-host-77/cgroup.procs")) == "77")
        #expect(CgroupFile.read(directory.file("cgroup.subtree_control")) == "+cpu +memory +pids")
    }

    @Test(
        arguments: [
            // What was on before, whether another host is there, and what is written to switch off.
            ("", false, "-cpu -memory -pids"), ("cpu io", false, "-memory -pids"), ("cpu memory pids", false, nil),
            ("", true, nil),
        ] as [(String, Bool, String?)])
    func aHostThatEndsLeavesControllersThatOthersUse(before: String, hasOther: Bool, written: String?) throws {
        let directory = try TemporaryDirectory()
        try directory.write("cgroup.controllers", "cpu io memory pids\n")
        try directory.write("cgroup.subtree_control", before)
        let home = try CgroupHome(at: directory.path, host: 77)
        if hasOther {
            try FileManager.default.createDirectory(
                atPath: directory.file("functions-host-78"), withIntermediateDirectories: true)
        }
        let file = directory.file("cgroup.subtree_control")
        try FileManager.default.removeItem(atPath: file)
        home.close()
        #expect(CgroupFile.read(file) == written)
        #expect(CgroupFile.read(directory.file("cgroup.procs")) == "77")
    }

    @Test func aWorkersGroupHasItsLimits() throws {
        let (directory, home) = try home()
        let group = try home.makeGroup("shop-1", limits())
        try group.add(1234)
        let path = "functions-worker-77-shop-1/"
        for (file, value) in [
            ("memory.max", "134217728"), ("memory.swap.max", "0"), ("memory.oom.group", "1"), ("pids.max", "1029"),
            ("cpu.weight", "200"), ("cgroup.procs", "1234"),
        ] {
            #expect(CgroupFile.read(directory.file(path + file)) == value, "\(file)")
        }
    }

    @Test func aKillForMemoryIsTold() throws {
        let (directory, home) = try home()
        let group = try home.makeGroup("a-1", limits())
        #expect(group.end == nil)
        try directory.write("functions-worker-77-a-1/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n")
        #expect(group.end == nil)
        try directory.write("functions-worker-77-a-1/memory.events", "max 9\noom 1\noom_kill 2\noom_group_kill 1\n")
        #expect(group.end == .memory(used: 128 << 20, limit: 128 << 20))
        try directory.write("functions-worker-77-a-1/memory.peak", "134225920\n")
        #expect(group.end == .memory(used: 134_225_920, limit: 128 << 20))
    }

    @Test func withoutItsControllersACgroupIsOfNoUse() throws {
        let directory = try TemporaryDirectory()
        try directory.write("cgroup.controllers", "hugetlb\n")
        let error = #expect(throws: CgroupHome.Refusal.self) { try CgroupHome(at: directory.path, host: 77) }
        #expect(error?.description == "\(directory.path) has no cpu, memory, pids controller")
        #expect(CgroupFile.directories(in: directory.path).isEmpty)
    }

    @Test func whatADeadHostLeftIsRemoved() throws {
        let directory = try TemporaryDirectory()
        try directory.write("cgroup.controllers", "cpu memory pids\n")
        for name in ["functions-worker-1073741823-a-1", "functions-worker-\(getpid())-a-1", "another"] {
            try FileManager.default.createDirectory(atPath: directory.file(name), withIntermediateDirectories: true)
        }
        _ = try CgroupHome(at: directory.path, host: 77)
        #expect(CgroupFile.read(directory.file("functions-worker-1073741823-a-1/cgroup.kill")) == "1")
        #expect(CgroupFile.read(directory.file("functions-worker-\(getpid())-a-1/cgroup.kill")) == nil)
        #expect(CgroupFile.read(directory.file("another/cgroup.kill")) == nil)
    }

    @Test(arguments: [
        ("0::/user.slice/shop.service\n", "/", "/sys/fs/cgroup/user.slice/shop.service"),
        ("9:memory:/x\n0::/\n", "/", "/sys/fs/cgroup"),
        ("0::/docker/abc/shop\n", "/docker/abc", "/sys/fs/cgroup/shop"),
        ("0::/docker/abc\n", "/docker/abc", "/sys/fs/cgroup"),
    ])
    func theHostsOwnGroupIsFound(groups: String, root: String, expected: String) throws {
        let mounts = """
            25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw
            35 25 0:30 \(root) /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
            """
        #expect(try CgroupHome.path(mounts: mounts, groups: groups) == expected)
        #expect(throws: CgroupHome.Refusal.self) { try CgroupHome.path(mounts: "", groups: groups) }
        #expect(throws: CgroupHome.Refusal.self) { try CgroupHome.path(mounts: mounts, groups: "4:memory:/\n") }
    }
}

/// Against the kernel.
struct KernelCgroupTests {
    /// The cgroup these tests run in, where it may be written to. It may have no controllers: a process can be placed and
    /// killed nevertheless.
    private static let path: String? = {
        guard let mounts = CgroupFile.read("/proc/self/mountinfo"), let groups = CgroupFile.read("/proc/self/cgroup"),
            let path = try? CgroupHome.path(mounts: mounts, groups: groups),
            access(path + "/cgroup.procs", W_OK) == 0
        else { return nil }
        return path
    }()

    private func sleeper() throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["1000"]
        try process.start()
        return process
    }

    /// With the one signal that it can't have inherited as blocked.
    private func end(_ process: Process) {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    @Test(.enabled(if: path != nil, "this user may not write to a cgroup of version 2"))
    func aProcessIsPlacedKilledAndItsGroupRemoved() throws {
        let path = try #require(Self.path) + "/functions-test-\(getpid())"
        let group = WorkerCgroup(path: path, limits: WorkerLimits(memory: 1 << 30))
        try group.make([])
        let process = try sleeper()
        try group.add(process.processIdentifier)
        #expect(CgroupFile.read(path + "/cgroup.procs") == "\(process.processIdentifier)\n")
        #expect(!group.remove())
        group.kill()
        process.waitUntilExit()
        #expect(process.terminationStatus == SIGKILL)
        #expect(group.remove())
        #expect(group.remove())
    }

    @Test(.enabled(if: path != nil, "this user may not write to a cgroup of version 2"))
    func aHostMovesAsideAndBack() throws {
        let path = try #require(Self.path) + "/functions-test-\(getpid())-home"
        try #require(mkdir(path, 0o755) == 0)
        defer { rmdir(path) }
        let host = try sleeper()
        let pid = host.processIdentifier
        let home = try CgroupHome(at: path, controllers: [], host: pid)
        #expect(CgroupFile.read("\(path)/functions-host-\(pid)/cgroup.procs") == "\(pid)\n")
        let group = try home.makeGroup("a-1", WorkerLimits(memory: 1 << 27))
        #expect(CgroupFile.directories(in: path).sorted() == ["functions-host-\(pid)", "functions-worker-\(pid)-a-1"])
        #expect(group.remove())
        home.close()
        #expect(CgroupFile.read(path + "/cgroup.procs") == "\(pid)\n")
        // It dies with a worker left: with the next host's start that ends, and its group with it.
        let left = try home.makeGroup("a-2", WorkerLimits(memory: 1 << 27))
        let worker = try sleeper()
        try left.add(worker.processIdentifier)
        end(host)
        let next = try sleeper()
        let second = try CgroupHome(at: path, controllers: [], host: next.processIdentifier)
        worker.waitUntilExit()
        #expect(worker.terminationStatus == SIGKILL)
        #expect(CgroupFile.directories(in: path) == ["functions-host-\(next.processIdentifier)"])
        second.close()
        end(next)
    }

    private static let refusal: String? = {
        guard let path else { return "this user may not write to a cgroup of version 2" }
        let there = CgroupFile.read(path + "/cgroup.controllers") ?? ""
        let missing = CgroupHome.controllers.filter { !there.split(separator: " ").contains(Substring($0)) }
        return missing.isEmpty ? nil : "the cgroup of these tests has no controller \(missing.joined(separator: ", "))"
    }()

    /// Needs controllers that can be handed down; the group it makes lies below one that has no processes.
    @Test(.enabled(if: refusal == nil, Comment(rawValue: refusal ?? "")))
    func theKernelTakesEverySetting() throws {
        let path = try #require(Self.path) + "/functions-test-\(getpid())-limits"
        try #require(mkdir(path, 0o755) == 0)
        defer { rmdir(path) }
        try #require(CgroupFile.write("+cpu +memory +pids", to: path + "/cgroup.subtree_control"))
        let group = WorkerCgroup(path: path + "/worker", limits: WorkerLimits(memory: 1 << 27))
        try group.make(CgroupHome.controllers)
        #expect(CgroupFile.read(path + "/worker/memory.max") == "134217728\n")
        #expect(group.end == nil)
        #expect(group.remove())
    }
}
