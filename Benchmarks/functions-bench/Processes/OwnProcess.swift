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

    private static func status(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
            throw LoadError("/proc/self/status has no \(name)")
        }
        return kilobytes * 1024
    }
}
