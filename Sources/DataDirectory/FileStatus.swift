import CFunctionsSystem

/// What a path names, and whose it is.
package struct FileStatus {
    private let mode: UInt32
    /// The user's number.
    package let owner: UInt32

    /// Nil where nothing is there or it can't be looked at; `errno` tells which.
    package init?(_ path: String) {
        var mode: UInt32 = 0
        var owner: UInt32 = 0
        guard functions_file_status(path, &mode, &owner) == 0 else { return nil }
        self.mode = mode
        self.owner = owner
    }

    package var isDirectory: Bool { mode & 0o170000 == 0o040000 }

    /// Whether anybody but the owner may do anything with it.
    package var isOpenToOthers: Bool { mode & 0o077 != 0 }
}
