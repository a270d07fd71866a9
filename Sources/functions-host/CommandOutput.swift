import Foundation

/// Writes what a command prints.
enum CommandOutput {
    /// Writes a text as a whole.
    static func append(_ text: String, to handle: FileHandle) throws(OutputFailure) {
        try append(Array(text.utf8), to: handle)
    }

    /// Writes bytes as a whole.
    static func append(_ bytes: [UInt8], to handle: FileHandle) throws(OutputFailure) {
        let descriptor = handle.fileDescriptor
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // The file is shared with a program that has made it nonblocking.
                _ = events(of: descriptor, waitingFor: POLLOUT)
                continue
            }
            guard count > 0 else { throw OutputFailure(code: errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Whether the other end of a pipe is closed, so that nothing that is written to it is read.
    static func hasLostReader(_ handle: FileHandle) -> Bool {
        events(of: handle.fileDescriptor, waitingFor: nil) & Int32(POLLERR | POLLHUP) != 0
    }

    /// - Parameter event: nil not to wait.
    private static func events(of descriptor: CInt, waitingFor event: Int32?) -> Int32 {
        var entry = pollfd(fd: descriptor, events: Int16(event ?? 0), revents: 0)
        return poll(&entry, 1, event == nil ? 0 : -1) > 0 ? Int32(entry.revents) : 0
    }
}

/// Why an output can't be written.
struct OutputFailure: Error, CustomStringConvertible {
    /// The `errno` of the call that failed.
    let code: Int32

    /// Whether its reader has left, which may have all that it wants.
    var isOfReader: Bool { code == EPIPE }

    var description: String { "the output can't be written: \(reason)" }

    /// The system's reason.
    var reason: String { String(cString: strerror(code)) }
}
