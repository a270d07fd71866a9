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
