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

    /// The ids of a process's children.
    /// - Parameter withEnded: whether those count that have ended and aren't reaped.
    static func children(of parent: Int32, withEnded: Bool = false) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            // PID (NAME) STATE PARENT …, where the name may hold anything.
            guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/stat"),
                let end = line.lastIndex(of: UInt8(ascii: ")"))
            else { return false }
            let rest = String(decoding: line[(end + 1)...], as: UTF8.self).split(separator: " ")
            return rest.count > 1 && rest[1] == "\(parent)" && (withEnded || rest[0] != "Z")
        }
    }

    /// The ids of processes whose environment has this variable, such as `HOME=/tmp/x`; what they have started has it too.
    static func having(_ variable: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            guard let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ") else { return false }
            return environment.split(separator: 0).contains { $0.elementsEqual(variable.utf8) }
        }
    }
}
