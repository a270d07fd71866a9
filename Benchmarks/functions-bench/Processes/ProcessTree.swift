import Foundation

/// A process and all its descendants, read from `/proc`.
struct ProcessTree: Sendable {
    /// The root of the tree.
    var root: Int32

    /// Seconds of CPU, user and system, of all living processes and of those that they have reaped.
    func cpuSeconds() throws -> Double {
        var ticks = 0
        for stat in try stats() {
            // Fields 14 to 17, counted from 1: utime, stime, and those of reaped children.
            ticks += stat.fields[11...14].compactMap { Int($0) }.reduce(0, +)
        }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Seconds of CPU of the root alone, in nanosecond resolution, over its living threads.
    ///
    /// - Parameter name: threads of this name don't count.
    func rootCPUSeconds(without name: String? = nil) throws -> Double {
        let tasks = "/proc/\(root)/task"
        func words(_ thread: String, _ file: String) -> [Substring] {
            let text = (try? String(contentsOfFile: "\(tasks)/\(thread)/\(file)", encoding: .utf8)) ?? ""
            return text.split { $0 == " " || $0 == "\n" }
        }
        let nanoseconds = try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, thread in
            if let name, words(thread, "comm").first == Substring(name) { return sum }
            return sum + (words(thread, "schedstat").first.flatMap { Int($0) } ?? 0)
        }
        return Double(nanoseconds) / 1e9
    }

    /// The memory of all processes in bytes. A page that several share counts once.
    func residentBytes() throws -> Int {
        try stats().reduce(0) { sum, stat in
            let text = (try? String(contentsOfFile: "/proc/\(stat.pid)/smaps_rollup", encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
            let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            return sum + (kilobytes ?? 0) * 1024
        }
    }

    /// Samples the processes' memory a few times a second until the task is cancelled, and returns the maximum.
    func peakResidentBytes() async throws -> Int {
        var peak = 0
        while !Task.isCancelled {
            peak = max(peak, try residentBytes())
            try? await Task.sleep(for: .milliseconds(250))
        }
        return peak
    }

    /// The number of processes.
    func count() throws -> Int { try stats().count }

    private struct Stat {
        var pid: Int32
        var parent: Int32
        /// The fields of `/proc/PID/stat` from the third on.
        var fields: [Substring]
    }

    private func stats() throws -> [Stat] {
        let pids = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
        let all = pids.compactMap { Self.stat($0) }
        guard let first = all.first(where: { $0.pid == root }) else {
            throw LoadError("the process \(root) has ended")
        }
        var found = [first]
        var index = 0
        while index < found.count {
            found += all.filter { $0.parent == found[index].pid }
            index += 1
        }
        return found
    }

    private static func stat(_ pid: Int32) -> Stat? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            // The second field is the program's name in parentheses, and may contain anything.
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 20, let parent = Int32(fields[1]) else { return nil }
        return Stat(pid: pid, parent: parent, fields: fields)
    }
}
