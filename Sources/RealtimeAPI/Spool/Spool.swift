import DocumentModel
import RealtimeStore
import Sharing
import Synchronization

/// Where large values wait: those that were read, until their clients have taken them, so that a slow client holds neither
/// memory nor a state of the store, and those that are being written, until they are whole.
package final class Spool: Sendable {
    /// Values up to this are kept in memory.
    static let maxBytesInMemory = 256 * 1024

    private let directory: String
    private let budget: MemoryBudget
    /// Reads and writes the files.
    let work = LongWork("realtime.spool")

    /// - Parameters:
    ///   - directory: where the files are.
    ///   - bytes: what all values together may have, shared among callers as a `MemoryBudget` is.
    package init(directory: String, bytes: Int = 4 * 1024 * 1024 * 1024) {
        self.directory = directory
        budget = MemoryBudget(total: bytes)
    }

    func makeFile(for holder: MemoryBudget.Holder) throws(RealtimeFailure) -> SpoolFile {
        try SpoolFile(in: directory, budget, for: holder)
    }

    /// Collects a value that is read.
    ///
    /// - Parameters:
    ///   - cancellation: ends collecting.
    ///   - write: hands over its pieces, none of which ends within a character.
    /// - Throws: what it throws, or `unavailable` if the value can't be kept.
    func collect(
        for holder: MemoryBudget.Holder, until cancellation: OperationCancellation,
        _ write: (_ receive: ([UInt8]) throws -> Void) throws -> Void
    ) throws -> RealtimeContent {
        var bytes: [UInt8] = []
        var units = 0
        var file: SpoolFile?
        func append(_ bytes: [UInt8], to file: SpoolFile) throws {
            try bytes.withUnsafeBytes { bytes in
                units += UTF16Units.count(bytes)
                try file.append(bytes)
            }
        }
        try write { piece in
            if cancellation.isCancelled { throw DocumentError.callerLeft }
            if let file { return try append(piece, to: file) }
            bytes += piece
            guard bytes.count > Self.maxBytesInMemory else { return }
            let new = try makeFile(for: holder)
            try append(bytes, to: new)
            bytes = []
            file = new
        }
        return file.map { .stream(SpooledContent($0, work), units: units) } ?? .bytes(bytes)
    }
}

/// A value that was read, in a file.
final class SpooledContent: RealtimeContentStream {
    private let file: SpoolFile
    private let work: LongWork
    private let position = Atomic(0)

    /// What is read at once.
    private static let pieceBytes = 65_536

    init(_ file: SpoolFile, _ work: LongWork) {
        self.file = file
        self.work = work
    }

    func next(_ completion: @escaping @Sendable (Result<[UInt8]?, RealtimeServiceError>) -> Void) {
        work.add { [self] in
            do throws(RealtimeFailure) {
                completion(.success(try read()))
            } catch {
                completion(.failure(.unavailable(error.message)))
            }
        }
    }

    /// - Returns: nil at the end.
    private func read() throws(RealtimeFailure) -> [UInt8]? {
        let start = position.load(ordering: .relaxed)
        var bytes = try file.read(at: start, Self.pieceBytes)
        guard !bytes.isEmpty else { return nil }
        if start + bytes.count < file.length { bytes.removeLast(Self.cutCharacter(at: bytes)) }
        position.store(start + bytes.count, ordering: .relaxed)
        return bytes
    }

    /// The bytes at the end that are a part of a character only.
    private static func cutCharacter(at bytes: [UInt8]) -> Int {
        for count in 1...3 where count < bytes.count {
            let byte = bytes[bytes.count - count]
            if byte < 0x80 { return 0 }
            guard byte >= 0xC0 else { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
            return length > count ? count : 0
        }
        return 0
    }

    /// The file ends with the last reference.
    func cancel() {}
}
