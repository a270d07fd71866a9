import Foundation
import StorageEngine

/// A store's files of large values (.blob): whether all are there, and which one is damaged.
final class RocksDBLargeValues: Sendable {
    private let directory: String
    private let lock = NSLock()
    // `lock` is held by all code that uses it. Nil before it was found.
    nonisolated(unsafe) private var damaged: String?

    init(of directory: String) { self.directory = directory }

    /// Adds the file's name to an error that RocksDB has found in one of them: RocksDB doesn't tell it.
    func naming(_ error: StorageError) -> StorageError {
        guard error.kind == .damaged, error.message.lowercased().contains("blob"), !error.message.contains(Self.suffix),
            let file = lock.withLock({
                findDamaged(isEnd: ["footer", "alformed"].contains { error.message.contains($0) })
            })
        else { return error }
        return StorageError(.damaged, "\(error.message); the damaged file is \(file)")
    }

    /// Reads files until one is found.
    ///
    /// - Parameter isEnd: whether the end of one is damaged. Otherwise one without an end is being written.
    private func findDamaged(isEnd: Bool) -> String? {
        damaged =
            damaged
            ?? names.lazy.map { self.directory + "/" + $0 }.first { Self.isDamaged($0, hasEnd: isEnd) }
        return damaged
    }

    /// From the oldest to the newest: numbers with leading zeros.
    private var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(Self.suffix) }.sorted { ($0.count, $0) < ($1.count, $1) }
    }

    /// Checks that all are there, of which there shall be `expected`. RocksDB would miss one only when it needs a value in it.
    func check(expected: UInt64) throws(StorageError) {
        let found = names.count
        guard found < expected else { return }
        throw StorageError(
            .damaged,
            "the store \(directory) is damaged: \(found) of its \(expected) files of large values (.blob) are there; "
                + "restore it from a backup")
    }

    private static let suffix = ".blob"

    /// Whether a part of a file isn't as it was written.
    ///
    /// The layout is RocksDB's. Each record begins with the lengths of its key and value, an expiration, and two checksums: of
    /// these, and of key and value. At the end are a mark, the number of records, a range of expirations and a checksum.
    private static func isDamaged(_ path: String, hasEnd: Bool) -> Bool {
        let (fileHeader, recordHeader, footer, mark): (Int, Int, Int, UInt32) = (30, 32, 32, 0x0024_8F37)
        guard let file = try? Data(contentsOf: URL(fileURLWithPath: path)) else { return false }
        return file.withUnsafeBytes { file in
            func number<T: FixedWidthInteger>(_ position: Int, _: T.Type) -> T {
                T(littleEndian: file.loadUnaligned(fromByteOffset: position, as: T.self))
            }
            guard file.count >= fileHeader else { return hasEnd }
            guard number(0, UInt32.self) == mark else { return true }
            var (position, records): (Int, UInt64) = (fileHeader, 0)
            while position < file.count {
                guard position + recordHeader <= file.count else { return hasEnd }
                if position + footer == file.count, number(position, UInt32.self) == mark {
                    let isWhole = RocksDBChecksum.matches(
                        number(position + 28, UInt32.self), file[position..<position + 28])
                    return !isWhole || number(position + 4, UInt64.self) != records
                }
                guard RocksDBChecksum.matches(number(position + 24, UInt32.self), file[position..<position + 24])
                else { return true }
                let length = number(position, UInt64.self).addingReportingOverflow(number(position + 8, UInt64.self))
                let content = position + recordHeader
                guard !length.overflow, length.partialValue <= UInt64(file.count - content) else { return hasEnd }
                let end = content + Int(length.partialValue)
                guard RocksDBChecksum.matches(number(position + 28, UInt32.self), file[content..<end]) else {
                    return true
                }
                (position, records) = (end, records + 1)
            }
            return hasEnd
        }
    }
}
