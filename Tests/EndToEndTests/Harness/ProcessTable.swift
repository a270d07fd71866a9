import Foundation

/// The system's running processes, as `/proc` shows them.
enum ProcessTable {
    /// The IDs of processes whose executable was started with this path, without zombies.
    static func running(_ program: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            guard let line = contents("/proc/\(pid)/cmdline") else { return false }
            return line.starts(with: Array(program.utf8) + [0])
        }
    }

    /// The IDs of a process's children.
    /// - Parameter withEnded: whether to include zombies.
    static func children(of parent: Int32, withEnded: Bool = false) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            // PID (NAME) STATE PARENT …; the name may contain any character.
            guard let line = contents("/proc/\(pid)/stat"),
                let end = line.lastIndex(of: UInt8(ascii: ")"))
            else { return false }
            let rest = String(decoding: line[(end + 1)...], as: UTF8.self).split(separator: " ")
            return rest.count > 1 && rest[1] == "\(parent)" && (withEnded || rest[0] != "Z")
        }
    }

    /// The IDs of processes whose environment has this variable, such as `HOME=/tmp/x`. Their children inherit it.
    static func having(_ variable: String) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { pid in
            guard let environment = contents("/proc/\(pid)/environ") else { return false }
            return environment.split(separator: 0).contains { $0.elementsEqual(variable.utf8) }
        }
    }

    /// Reads a file of the kernel's. `FileManager.contents(atPath:)` leaks 4 KiB whenever one is empty, as those of kernel
    /// threads are, and waits read them again and again.
    private static func contents(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                bytes.append(contentsOf: buffer.prefix(max(count, 0)))
                return count
            }
            guard count > 0 else { return bytes }
        }
    }
}
