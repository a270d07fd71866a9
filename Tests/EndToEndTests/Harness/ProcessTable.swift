import Foundation

/// The system's running processes, as `/proc` shows them.
enum ProcessTable {
    /// The ids of processes whose program was started by this path; zombies aren't among them.
    static func running(_ program: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else { return false }
            return line.starts(with: Array(program.utf8) + [0])
        }
    }
}
