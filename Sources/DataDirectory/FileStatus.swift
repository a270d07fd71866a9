import CFunctionsSystem

/// The type, owner and permissions of a file or directory.
package struct FileStatus {
    private let mode: UInt32
    /// The owner's user ID.
    package let owner: UInt32

    /// Nil if the path doesn't exist or can't be examined; `errno` has the reason.
    package init?(_ path: String) {
        var mode: UInt32 = 0
        var owner: UInt32 = 0
        guard functions_file_status(path, &mode, &owner) == 0 else { return nil }
        self.mode = mode
        self.owner = owner
    }

    package var isDirectory: Bool { mode & 0o170000 == 0o040000 }

    /// Whether users that are neither the owner nor in its group have any permission.
    package var isOpenToEveryone: Bool { mode & 0o007 != 0 }

    /// Whether users other than the owner have any permission.
    package var isOpenToOthers: Bool { mode & 0o077 != 0 }
}

/// The state of the file or directory that a path leads to, links included. Another file, and the same one after a change,
/// has another stamp.
package struct FileStamp: Hashable, Sendable, CustomStringConvertible {
    /// Which of the machine's files it is.
    package struct Identity: Hashable, Sendable {
        fileprivate let device: Int64
        fileprivate let number: Int64
    }

    package let identity: Identity
    private let mode: Int64
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    /// Nil if the path doesn't lead to a file, or it can't be examined.
    package init?(_ path: String) {
        var values = [Int64](repeating: 0, count: 6)
        guard functions_file_stamp(path, &values) == 0 else { return nil }
        identity = Identity(device: values[0], number: values[1])
        mode = values[2]
        size = values[3]
        seconds = values[4]
        nanoseconds = values[5]
    }

    package var isDirectory: Bool { mode & 0o170000 == 0o040000 }

    package var description: String {
        "\(identity.device):\(identity.number) \(mode) \(size) \(seconds).\(nanoseconds)"
    }
}
