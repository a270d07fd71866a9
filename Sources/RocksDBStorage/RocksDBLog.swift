import Foundation
import StorageEngine

/// A log of RocksDB's, as far as it tells where its commits end, or its list of files, which has the same layout.
///
/// The layout is RocksDB's: blocks of 32 KiB with fragments of records, each with a checksum, a length and a type. A
/// record is one commit, and begins with the numbers of its first row and of its rows. RocksDB itself doesn't tell a
/// commit that was being written when the process ended from one that was damaged later, and takes the one for the other
/// at the end of a log, or where zeros are. Each commit is synced before the next begins: so what can't be read is a
/// commit that was never acknowledged only if no other follows it.
struct RocksDBLog {
    let path: String
    /// Whether it has a complete record.
    private(set) var hasCommits = false
    /// The length of all complete records.
    private(set) var end = 0
    private(set) var size = 0
    /// Where a commit is damaged that others follow; nil if none is.
    private(set) var damage: Int?

    private static let blockSize = 32768
    private static let headerSize = 7

    /// The number of the first commit's first row; nil if there is none.
    private(set) var first: UInt64?
    /// The number that the next commit's first row has; nil if it isn't known.
    private(set) var next: UInt64?
    /// What the list of files says at its end.
    private(set) var files = FileChange()
    /// The number of the last row that was committed; nil if it isn't known.
    private let last: UInt64?
    /// What its records are.
    private let content: Content

    enum Content {
        case commits
        /// Changes of the store's files. RocksDB keeps them in the same layout, and is as lenient with their end.
        case files

        /// The bytes that are read of a record.
        var headerSize: Int {
            switch self {
            case .commits: Commit.headerSize
            case .files: FileChange.headerSize
            }
        }
    }

    /// - Parameter next: the number of the first row, if it is known.
    /// - Throws: `StorageError` if the file can't be read.
    init(_ path: String, of content: Content = .commits, from next: UInt64? = nil, upTo last: UInt64? = nil) throws {
        self.path = path
        self.content = content
        self.next = next
        self.last = last
        let file: Data
        do {
            file = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw StorageError(.unavailable, "the store's file \(path) can't be read; check its permissions")
        }
        size = file.count
        file.withUnsafeBytes { read($0) }
    }

    private mutating func read(_ log: UnsafeRawBufferPointer) {
        var position = 0
        /// The first bytes of the record that has begun; nil between records.
        var start: [UInt8]?
        while position < log.count {
            let left = Self.blockSize - position % Self.blockSize
            guard left >= Self.headerSize else {
                position += left
                continue
            }
            guard let fragment = Fragment(log, at: position), fragment.beginsRecord == (start == nil) else {
                return lookBehind(position, in: log)
            }
            let header = (start ?? []) + fragment.content.prefix(content.headerSize)
            start = Array(header.prefix(content.headerSize))
            if fragment.endsRecord {
                switch content {
                case .commits:
                    // Rows are numbered without gaps.
                    guard let commit = Commit(header), !hasCommits || commit.first == next else {
                        damage = end
                        return
                    }
                    // What follows is of a commit that failed.
                    if let last, commit.first > last { return }
                    first = first ?? commit.first
                    next = commit.first + commit.rows
                case .files: files.add(header)
                }
                start = nil
                hasCommits = true
                end = fragment.end
            }
            position = fragment.end
        }
    }

    /// Looks for a commit behind a fragment that can't be read. As its length may be what is damaged, that may begin anywhere.
    private mutating func lookBehind(_ position: Int, in log: UnsafeRawBufferPointer) {
        // Rows may contain bytes that look like a commit.
        // The damaged commit has at least one of them.
        let lowest = next.map { $0 + 1 } ?? 0
        let highest = min(next.map { $0 + 1 << 32 } ?? .max, last ?? .max)
        guard lowest <= highest else { return }
        let numbers = lowest...highest
        for other in position + 1..<max(position + 1, log.count - Self.headerSize) {
            // Few places get as far as the checksum.
            guard log[other + 6] == 1 || log[other + 6] == 2 else { continue }
            if content == .commits, other + Self.headerSize + Commit.headerSize <= log.count {
                let first = log.loadUnaligned(fromByteOffset: other + Self.headerSize, as: UInt64.self)
                let isWhole = Self.blockSize - other % Self.blockSize >= Self.headerSize + Commit.headerSize
                guard !isWhole || numbers.contains(UInt64(littleEndian: first)) else { continue }
            }
            guard Fragment(log, at: other) != nil else { continue }
            damage = end
            return
        }
    }

    /// Removes what follows the last commit.
    private func cut() throws {
        guard end < size else { return }
        let file = open(path, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw StoreFile.refusal("the store's log \(path) can't be written") }
        defer { close(file) }
        guard ftruncate(file, off_t(end)) == 0, fsync(file) == 0 else {
            throw StoreFile.refusal("the store's log \(path) can't be cut after its last commit")
        }
    }

    /// What a record begins with.
    private struct Commit {
        static let headerSize = 12

        let first: UInt64
        let rows: UInt64

        init?(_ bytes: [UInt8]) {
            guard bytes.count >= Self.headerSize else { return nil }
            first = bytes[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            rows = bytes[8..<Self.headerSize].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// What changes of the files say, the last one counts. Each begins with fields: a tag, and a number or a text. Tags and
    /// numbers are varints, and a text has its length before it.
    struct FileChange {
        /// More than the fields before those of single files take.
        fileprivate static let headerSize = 256

        private enum Tag: UInt64 {
            case comparator = 1
            case oldestLog = 2
            case nextFile = 3
            case lastRow = 4
            case formerLog = 9
            case oldestKeptLog = 10
            case families = 203
            case database = 8193
        }

        /// The number of the oldest log with rows that are in no table.
        private(set) var oldestLog: UInt64?
        /// A number that no file had yet.
        private(set) var nextFile: UInt64?
        /// The number of the last row that is in a table.
        private(set) var lastRow: UInt64?

        fileprivate mutating func add(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while let tag = Self.number(&rest).flatMap(Tag.init), let number = Self.number(&rest) {
                switch tag {
                case .oldestLog: oldestLog = number
                case .nextFile: nextFile = number
                case .lastRow: lastRow = number
                case .comparator, .database: rest = rest.dropFirst(Int(clamping: number))
                case .formerLog, .oldestKeptLog, .families: break
                }
            }
        }

        private static func number(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
            var number: UInt64 = 0
            for shift in stride(from: 0, to: 64, by: 7) {
                guard let byte = bytes.popFirst() else { return nil }
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return number }
            }
            return nil
        }
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
            let left = min(RocksDBLog.blockSize - position % RocksDBLog.blockSize, log.count - position)
            guard left >= RocksDBLog.headerSize else { return nil }
            let length = Int(UInt16(littleEndian: log.loadUnaligned(fromByteOffset: position + 4, as: UInt16.self)))
            type = log[position + 6]
            guard (1...4).contains(type), RocksDBLog.headerSize + length <= left else { return nil }
            end = position + RocksDBLog.headerSize + length
            content = UnsafeRawBufferPointer(rebasing: log[position + RocksDBLog.headerSize..<end])
            let stored = UInt32(littleEndian: log.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            let sum = Checksum.of(log[position + 6..<end])
            // RocksDB changes sums before it stores them.
            let turned: UInt32 = sum >> 15 | sum << 17
            guard stored == turned &+ 0xA282_EAD8 else { return nil }
        }
    }

    /// CRC-32C.
    private enum Checksum {
        private static let table: [UInt32] = (0..<256).map { index in
            var sum = UInt32(index)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0x82F6_3B78 : sum >> 1 }
            return sum
        }

        static func of(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt32 {
            table.withUnsafeBufferPointer { table in
                var sum: UInt32 = ~0
                for byte in UnsafeRawBufferPointer(rebasing: bytes) {
                    sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ (sum >> 8)
                }
                return ~sum
            }
        }
    }
}

extension RocksDBLog {
    /// Checks all logs of a directory before it is opened, and removes commits from their end that weren't completed.
    ///
    /// - Parameter last: the number of the last row that was committed; rows after it belong to a commit that failed. Nil
    ///   if it isn't known.
    /// - Returns: those that aren't empty, from the oldest to the newest.
    /// - Throws: `StorageError` if a commit is damaged that was completed.
    @discardableResult
    static func repair(_ directory: String, after last: UInt64? = nil) throws(StorageError) -> [RocksDBLog] {
        do {
            var logs = try RocksDBFiles.logs(in: directory).map {
                try RocksDBLog(directory + "/" + $0, upTo: last)
            }
            if let damaged = logs.first(where: { $0.damage != nil }) { throw damaged.isDamaged }
            // Commits go to the last log alone.
            logs.removeAll { $0.size == 0 }
            if let torn = logs.dropLast().first(where: { $0.end < $0.size }), logs.last?.hasCommits == true {
                throw torn.isDamaged
            }
            for log in logs { try log.cut() }
            return logs
        } catch {
            throw error as? StorageError
                ?? StorageError(.internal, "the store \(directory) can't be checked (\(error))")
        }
    }

    /// Checks the list of a closed store's files, and that each row that follows the tables is in a log.
    ///
    /// RocksDB takes what it can't read of the list's end for a change that was never completed. If it was, RocksDB would
    /// remove its tables, although the logs that had their rows may be gone.
    ///
    /// - Parameter logs: those that aren't empty, from the oldest to the newest.
    /// - Throws: `StorageError` if something is damaged or missing.
    static func checkFiles(of directory: String, with logs: [RocksDBLog]) throws(StorageError) {
        guard let path = RocksDBFiles.manifest(of: directory) else { return }
        let list: RocksDBLog
        do {
            list = try RocksDBLog(path, of: .files)
        } catch {
            throw error as? StorageError
                ?? StorageError(.internal, "the store's file \(path) can't be checked (\(error))")
        }
        if list.damage != nil { throw list.isDamaged }
        try checkNumbers(of: RocksDBFiles.logs(in: directory), list)
        guard var last = list.files.lastRow else { return }
        for log in logs {
            guard let first = log.first, let next = log.next else { continue }
            guard first <= last + 1 else {
                throw StorageError(
                    .damaged,
                    "the store \(directory) is damaged: rows \(last + 1) to \(first - 1) are neither in the tables that "
                        + "\(path) lists nor in a log before \(log.path); restore the store from a backup")
            }
            last = max(last, next - 1)
        }
    }

    /// Checks that the list of files knows the newest log, or one before it. A log that is begun while tables are written is
    /// listed with these, and the one before it is removed only afterwards.
    private static func checkNumbers(of logs: [String], _ list: RocksDBLog) throws(StorageError) {
        let numbers = logs.compactMap { UInt64($0.prefix { $0.isNumber }) }
        guard let newest = numbers.max(), let oldest = list.files.oldestLog, let next = list.files.nextFile,
            newest >= next, oldest < next, !numbers.contains(where: { (oldest..<next).contains($0) })
        else { return }
        throw StorageError(
            .damaged,
            "the store's file \(list.path) is damaged: its end is missing, since it has nothing of the log \(newest); "
                + "restore the store from a backup")
    }

    private var isDamaged: StorageError {
        StorageError(
            .damaged,
            "the store's file \(path) is damaged: what is at byte \(damage ?? end) can't be read, and more follows it; "
                + "restore the store from a backup")
    }
}
