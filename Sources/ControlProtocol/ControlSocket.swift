import DataDirectory

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The Unix socket in a data directory over which commands talk to the host that has it.
///
/// The directory is closed to everybody but its owner, and the socket is too.
package struct ControlSocket: Sendable {
    /// What fits into a socket's address on all systems, with its end.
    private static let maxAddressBytes = 103

    package let directory: String

    package init(directory: String) {
        self.directory = directory
    }
    package var path: String { directory + "/control.sock" }

    /// Runs the body with an address of the socket. One that is too long for an address is reached through the open
    /// directory, which Linux gives a short name.
    ///
    /// - Throws: a sentence where that isn't possible, or what the body throws.
    package func withAddress<Result: Sendable>(_ body: (String) async throws -> Result) async throws -> Result {
        guard path.utf8.count > Self.maxAddressBytes else { return try await body(path) }
        #if os(Linux)
            let descriptor = FileBytes.open(directory, O_RDONLY | O_DIRECTORY)
            guard descriptor >= 0 else {
                throw DataDirectoryError.refused(by: errno, "the data directory \(directory) can't be opened")
            }
            defer { FileBytes.close(descriptor) }
            return try await body("/proc/self/fd/\(descriptor)/control.sock")
        #else
            throw HostError(
                "the path \(path) is longer than the \(Self.maxAddressBytes) bytes that a socket's can have; name a data "
                    + "directory with a shorter path")
        #endif
    }

    /// Removes what a host that was killed has left. Only for who has the directory's lock.
    package func remove() { unlink(path) }

    package func closeToOthers() { chmod(path, 0o600) }
}
