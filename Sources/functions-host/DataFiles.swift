import ControlAPI
import DocumentModel
import DocumentStore
import Foundation
import HostProcess
import StorageEngine

/// The output of an export: standard output, or a file that gets its name only when it is complete.
final class ExportOutput {
    private static let pieceBytes = 256 * 1024

    private let path: String?
    private let replacing: Bool
    private let handle: FileHandle
    private var pending: [UInt8] = []
    private var hasName = false
    private var draft: String { (path ?? "") + ".unfinished" }

    /// - Parameter file: `-` for standard output.
    init(_ file: String, replacing: Bool, beside place: DataAccess) throws {
        self.replacing = replacing
        guard file != "-" else {
            path = nil
            handle = .standardOutput
            return
        }
        let path = absolutePath(file)
        try place.checkIsForOutput(path)
        guard replacing || !StoreFile.exists(path) else { throw Self.isThere(path) }
        let descriptor = try StoreFile.openDraft(path + ".unfinished")
        self.path = path
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ bytes: [UInt8]) throws {
        pending += bytes
        if pending.count >= Self.pieceBytes { try flush() }
    }

    /// Syncs the file and gives it its name.
    func finish() throws {
        try flush()
        guard let path else { return }
        guard fsync(handle.fileDescriptor) == 0 else {
            throw DocumentError(
                .unavailable, "\(draft) can't be written to disk: \(String(cString: strerror(errno)))")
        }
        if replacing {
            try StoreFile.move(draft, to: path)
        } else {
            // Another file may have appeared meanwhile.
            guard !StoreFile.exists(path) else { throw Self.isThere(path) }
            try StoreFile.moveWhereFree(draft, to: path)
        }
        hasName = true
        try StoreFile.syncDirectory(of: path)
    }

    /// Deletes an incomplete file.
    func discard() { if path != nil, !hasName { unlink(draft) } }

    private func flush() throws {
        do throws(OutputFailure) { try FileOutput.append(pending, to: handle) } catch {
            throw DocumentError(.unavailable, "the export can't be written: \(error.reason)")
        }
        pending.removeAll(keepingCapacity: true)
    }

    private static func isThere(_ path: String) -> DocumentError {
        DocumentError(.alreadyExists, "\(path) already exists; use another file, or --replace")
    }
}

/// An empty input, for commands that read nothing.
struct NoChunks: AsyncSequence, Sendable {
    typealias Failure = any Error

    struct AsyncIterator: AsyncIteratorProtocol {
        mutating func next() async throws -> [UInt8]? { nil }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
