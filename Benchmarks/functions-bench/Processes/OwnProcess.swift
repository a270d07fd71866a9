import Foundation

/// The resource usage of this process.
enum OwnProcess {
    /// Seconds of CPU, user and system.
    static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        return Double(seconds) + Double(microseconds) / 1e6
    }

    /// The peak of resident memory, in bytes.
    static func peakResidentBytes() throws -> Int { try status("VmHWM") }

    /// The current resident memory, in bytes.
    static func residentBytes() throws -> Int { try status("VmRSS") }

    /// Raises the limit of open files as far as the system allows, for many sockets. Child processes inherit it.
    static func raiseOpenFiles() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(resource, &limit)
    }

    /// Lets all others go before the thread that calls.
    static func makeThreadYield() {
        // On Linux 0 is the thread.
        _ = setpriority(0, 0, 19)
    }

    private static func status(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw LoadError("/proc/self/status has no \(name)")
        }
        return kilobytes * 1024
    }
}
