package import DocumentModel
package import Foundation

/// Reads a file, or standard input, in chunks.
package struct FileChunks: AsyncSequence, Sendable {
    package typealias Failure = any Error

    private static let pieceBytes = 256 * 1024
    /// How often a reader that waits checks whether it is cancelled, in milliseconds.
    private static let cancellationInterval: Int32 = 100
    private let handle: FileHandle

    /// - Parameter handle: an open file, at the position to read from.
    package init(_ handle: FileHandle) { self.handle = handle }

    /// - Parameter file: `-` for standard input.
    /// - Throws: `DocumentError` if the file can't be opened, or is a directory.
    package init(_ file: String) throws(DocumentError) {
        guard file != "-" else {
            handle = .standardInput
            return
        }
        let descriptor = open(URL(fileURLWithPath: file).path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw DocumentError(.notFound, "\(file) can't be opened: \(String(cString: strerror(errno)))")
        }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var isDirectory: ObjCBool = false
        guard !FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory) || !isDirectory.boolValue else {
            throw .invalidArgument(
                FileManager.default.fileExists(atPath: file + "/firebase-export-metadata.json")
                    ? "\(file) is an export of the Firebase emulators, which only they can read; start them with it, and "
                        + "copy their documents with \"functions-host data import --from HOST:PORT\""
                    : "\(file) is a directory; name a file that \"functions-host data export\" has written")
        }
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let handle: FileHandle

        /// Of a pipe, this is what has been written: an error in it is reported before its writer has ended.
        ///
        /// - Throws: `CancellationError` if the task is cancelled while nothing is written.
        package mutating func next() async throws -> [UInt8]? {
            var piece = [UInt8](repeating: 0, count: pieceBytes)
            while true {
                // A call that reads can't be cancelled.
                guard isReadable(within: cancellationInterval) else {
                    try Task.checkCancellation()
                    await Task.yield()
                    continue
                }
                let count = read(handle.fileDescriptor, &piece, piece.count)
                // A program that shares the file may have made it nonblocking.
                if count < 0, errno == EINTR || errno == EAGAIN { continue }
                guard count >= 0 else {
                    throw DocumentError(.unavailable, "the input can't be read: \(String(cString: strerror(errno)))")
                }
                return count == 0 ? nil : Array(piece[..<count])
            }
        }

        /// Whether reading doesn't wait: there is something, or the end, or an error.
        private func isReadable(within milliseconds: Int32) -> Bool {
            var entry = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&entry, 1, milliseconds)
            return count < 0 ? errno != EINTR : count > 0
        }
    }

    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(handle: handle) }
}
