import Foundation

/// A disk of a few megabytes in memory. Needs the right to mount.
package final class SmallDisk: Sendable {
    package let path: String

    package static let isPossible = (try? SmallDisk(megabytes: 1)) != nil

    package init(megabytes: Int) throws {
        path = FileManager.default.temporaryDirectory.path + "/disk-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Self.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "none", path)
    }

    deinit {
        try? Self.run("umount", "-l", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    package func setReadOnly(_ readOnly: Bool) throws {
        try Self.run("mount", "-o", "remount,\(readOnly ? "ro" : "rw")", path)
    }

    /// Writes a file until the disk has no room left.
    package func fill(_ name: String) throws {
        let descriptor = open(path + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Refused() }
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, page, page.count) > 0 {}
        guard errno == ENOSPC else { throw Refused() }
    }

    /// Keeps a file from being deleted, by root too, until it is released where it is by then. Needs the right to mount.
    package static func pin(_ file: String) throws { try run("mount", "--bind", file, file) }

    package static func release(_ file: String) throws { try run("umount", file) }

    private struct Refused: Error {}

    private static func run(_ command: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardError = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Refused() }
    }
}
