import DataDirectory

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The Unix socket in a data directory, over which commands talk to the host that runs on it.
///
/// Only the owner of the directory can access it and the socket.
package struct ControlSocket: Sendable {
    /// The length of a socket's path on all systems, without the terminating zero.
    private static let maxAddressBytes = 103

    package let directory: String

    package init(directory: String) {
        self.directory = directory
    }
    package var path: String { directory + "/control.sock" }

    /// Runs the body with the socket's address. If the path is too long for an address, Linux reaches the socket
    /// through `/proc/self/fd` and the open directory.
    ///
    /// - Throws: an error whose description is a sentence for the operator if the path is too long on this system, or
    ///   any error of the body.
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
                "the socket path \(path) is longer than \(Self.maxAddressBytes) bytes, the limit; "
                    + "choose a data directory with a shorter path")
        #endif
    }

    /// Removes the socket, also one that a killed host has left. The caller must have the directory's lock.
    package func remove() { unlink(path) }

    package func restrictToOwner() { chmod(path, 0o600) }
}
