import Foundation
import StorageEngine

/// The records of a log of RocksDB's, or of its list of files, which has the same layout.
///
/// The layout is RocksDB's: blocks of 32 KiB with fragments of records, each with a checksum, a length and a type. RocksDB
/// itself doesn't tell a record that was being written when the process ended from one that was damaged later, and takes the
/// one for the other at the end of a file, or where zeros are. Each record is synced before the next begins: so what can't
/// be read is one that was never completed only if no other follows it.
struct RocksDBRecords {
    let path: String
    let size: Int
    /// The length of all complete records.
    private(set) var end = 0
    /// Where a record is damaged that others follow; nil if none is.
    private(set) var damage: Int?

    private static let blockSize = 32768
    private static let headerSize = 7

    /// What reads the records.
    protocol Taker {
        /// The bytes of a record's begin that it needs.
        static var headerSize: Int { get }

        /// A complete record has come.
        mutating func take(_ header: [UInt8]) -> Verdict

        /// Whether any record may follow those that were taken.
        var mayContinue: Bool { get }

        /// Whether a record that begins with these bytes may follow them. Called for what only looks like one, too.
        func mayFollow(_ header: UnsafeRawBufferPointer) -> Bool
    }

    enum Verdict {
        case taken
        /// It doesn't continue what came before.
        case damaged
        /// It and what follows don't count.
        case end
    }

    /// Reads a file.
    ///
    /// - Throws: `StorageError` if it can't be read.
    init(_ path: String, for taker: inout some Taker) throws(StorageError) {
        self.path = path
        let file: Data
        do {
            file = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw StorageError(.unavailable, "the store's file \(path) can't be read; check its permissions")
        }
        size = file.count
        file.withUnsafeBytes { read($0, for: &taker) }
    }

    private mutating func read<T: Taker>(_ file: UnsafeRawBufferPointer, for taker: inout T) {
        var position = 0
        /// The first bytes of the record that has begun; nil between records.
        var start: [UInt8]?
        while position < file.count {
            let left = Self.blockSize - position % Self.blockSize
            guard left >= Self.headerSize else {
                position += left
                continue
            }
            guard let fragment = Fragment(file, at: position), fragment.beginsRecord == (start == nil) else {
                if hasRecord(behind: position, in: file, for: taker) { damage = end }
                return
            }
            let header = Array(((start ?? []) + fragment.content.prefix(T.headerSize)).prefix(T.headerSize))
            start = header
            if fragment.endsRecord {
                switch taker.take(header) {
                case .taken: break
                case .damaged:
                    damage = end
                    return
                case .end: return
                }
                start = nil
                end = fragment.end
            }
            position = fragment.end
        }
    }

    /// Looks for a record behind a fragment that can't be read. As its length may be what is damaged, that may begin anywhere,
    /// and other content may look like one.
    private func hasRecord<T: Taker>(behind position: Int, in file: UnsafeRawBufferPointer, for taker: T) -> Bool {
        guard taker.mayContinue else { return false }
        for other in position + 1..<max(position + 1, file.count - Self.headerSize) {
            // Few places get as far as the checksum.
            guard file[other + 6] == 1 || file[other + 6] == 2 else { continue }
            let isWhole = Self.blockSize - other % Self.blockSize >= Self.headerSize + T.headerSize
            let header = file.dropFirst(other + Self.headerSize).prefix(T.headerSize)
            if isWhole, header.count == T.headerSize, !taker.mayFollow(UnsafeRawBufferPointer(rebasing: header)) {
                continue
            }
            if Fragment(file, at: other) != nil { return true }
        }
        return false
    }

    /// Removes what follows the last complete record.
    func cut() throws(StorageError) {
        guard end < size else { return }
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw StoreFile.refusal("the store's log \(path) can't be written") }
        defer { close(file) }
        guard ftruncate(file, off_t(end)) == 0, fsync(file) == 0 else {
            throw StoreFile.refusal("the store's log \(path) can't be cut after its last commit")
        }
    }

    var isDamaged: StorageError {
        StorageError(
            .damaged,
            "the store's file \(path) is damaged: what is at byte \(damage ?? end) can't be read, and more follows it; "
                + "restore the store from a backup")
    }

    /// A part of a record, within one block.
    private struct Fragment {
        let content: UnsafeRawBufferPointer
        let end: Int
        private let type: UInt8

        var beginsRecord: Bool { type == 1 || type == 2 }
        var endsRecord: Bool { type == 1 || type == 4 }

        /// Nil if there is none, or if it isn't as it was written.
        init?(_ log: UnsafeRawBufferPointer, at position: Int) {
            let left = min(RocksDBRecords.blockSize - position % RocksDBRecords.blockSize, log.count - position)
            guard left >= RocksDBRecords.headerSize else { return nil }
            let length = Int(UInt16(littleEndian: log.loadUnaligned(fromByteOffset: position + 4, as: UInt16.self)))
            type = log[position + 6]
            guard (1...4).contains(type), RocksDBRecords.headerSize + length <= left else { return nil }
            end = position + RocksDBRecords.headerSize + length
            content = UnsafeRawBufferPointer(rebasing: log[position + RocksDBRecords.headerSize..<end])
            let stored = UInt32(littleEndian: log.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            guard RocksDBChecksum.matches(stored, log[position + 6..<end]) else { return nil }
        }
    }
}
