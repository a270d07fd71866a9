package import Foundation

/// Writes to files that other programs may share, such as standard output.
package enum FileOutput {
    /// Writes a text as a whole.
    package static func append(_ text: String, to handle: FileHandle) throws(OutputFailure) {
        try append(Array(text.utf8), to: handle)
    }

    /// Writes bytes as a whole.
    package static func append(
        _ bytes: some ContiguousBytes & RandomAccessCollection<UInt8>, to handle: FileHandle
    ) throws(OutputFailure) {
        let descriptor = handle.fileDescriptor
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                // The file is shared with a program that has made it nonblocking.
                _ = events(of: descriptor, waitingFor: POLLOUT)
                continue
            }
            guard count > 0 else { throw OutputFailure(code: errno) }
            written += count
        }
    }

    /// Whether the other end of a pipe is closed, so that nothing that is written to it is read.
    package static func hasLostReader(_ handle: FileHandle) -> Bool {
        events(of: handle.fileDescriptor, waitingFor: nil) & Int32(POLLERR | POLLHUP) != 0
    }

    /// - Parameter event: nil not to wait.
    private static func events(of descriptor: CInt, waitingFor event: Int32?) -> Int32 {
        var entry = pollfd(fd: descriptor, events: Int16(event ?? 0), revents: 0)
        return poll(&entry, 1, event == nil ? 0 : -1) > 0 ? Int32(entry.revents) : 0
    }
}

/// Why an output can't be written.
package struct OutputFailure: Error, CustomStringConvertible {
    /// The `errno` of the call that failed.
    package let code: Int32

    /// Whether its reader has left, which may have all that it wants.
    package var isOfReader: Bool { code == EPIPE }

    package var description: String { "the output can't be written: \(reason)" }

    /// The system's reason.
    package var reason: String { String(cString: strerror(code)) }
}
