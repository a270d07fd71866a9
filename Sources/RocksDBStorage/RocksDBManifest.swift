import StorageEngine

/// The list of a store's files (MANIFEST), as far as it tells whether some are missing. Each record is a change of the list.
struct RocksDBManifest {
    private let records: RocksDBRecords
    private let fields: Fields

    private init(_ path: String) throws(StorageError) {
        var fields = Fields()
        records = try RocksDBRecords(path, for: &fields)
        self.fields = fields
    }

    /// What the changes say; the last one counts. Each begins with fields: a tag, and a number or a text. Tags and numbers are
    /// varints, and a text has its length before it.
    private struct Fields: RocksDBRecords.Taker {
        /// More than the fields before those of single files take.
        static let headerSize = 256

        private enum Tag: UInt64 {
            case comparator = 1
            case oldestLog = 2
            case nextFile = 3
            case lastRow = 4
            case formerLog = 9
            case oldestKeptLog = 10
            case families = 203
            case database = 8193
            case fullLog = 8199
            case removedLogs = 8200
        }

        /// The number of the oldest log with rows that are in no table.
        private(set) var oldestLog: UInt64?
        /// A number that no file had yet.
        private(set) var nextFile: UInt64?
        /// The number of the last row that is in a table.
        private(set) var lastRow: UInt64?
        /// The number of the newest log that another one has followed, as long as it isn't known to be superfluous.
        private(set) var fullLog: UInt64?

        mutating func take(_ header: [UInt8]) -> RocksDBRecords.Verdict {
            var rest = header[...]
            while let tag = Self.number(&rest).flatMap(Tag.init), let number = Self.number(&rest) {
                switch tag {
                case .oldestLog: oldestLog = number
                case .nextFile: nextFile = number
                case .lastRow: lastRow = number
                case .comparator, .database: rest = rest.dropFirst(Int(clamping: number))
                case .fullLog:
                    fullLog = max(fullLog ?? 0, Self.firstNumber(of: number, &rest) ?? 0)
                case .removedLogs:
                    if let full = fullLog, let kept = Self.firstNumber(of: number, &rest), full < kept { fullLog = nil }
                case .formerLog, .oldestKeptLog, .families: break
                }
            }
            return .taken
        }

        var mayContinue: Bool { true }

        func mayFollow(_ header: UnsafeRawBufferPointer) -> Bool { true }

        /// The number that a text of some length begins with.
        private static func firstNumber(of length: UInt64, _ bytes: inout ArraySlice<UInt8>) -> UInt64? {
            var text = bytes.prefix(Int(clamping: length))
            bytes = bytes.dropFirst(Int(clamping: length))
            return number(&text)
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

    /// Checks the list of a closed store's files, and that each row that follows the tables is in a log.
    ///
    /// RocksDB takes what it can't read of the list's end for a change that was never completed. If it was, RocksDB would
    /// remove its tables, although the logs that had their rows may be gone.
    ///
    /// - Parameter logs: those that aren't empty, from the oldest to the newest.
    /// - Throws: `StorageError` if something is damaged or missing.
    static func check(_ directory: String, with logs: [RocksDBLog]) throws(StorageError) {
        guard let path = RocksDBFiles.manifest(of: directory) else { return }
        let list = try RocksDBManifest(path)
        if list.records.damage != nil { throw list.records.isDamaged }
        try list.checkNumbers(of: RocksDBFiles.logs(in: directory))
        guard var last = list.fields.lastRow else { return }
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

    /// Checks that no newer log is missing, and that the list knows the newest log, or one before it. A log that is begun
    /// while tables are written is listed with these, and the one before it is removed only afterwards.
    private func checkNumbers(of logs: [String]) throws(StorageError) {
        let numbers = logs.compactMap { UInt64($0.prefix { $0.isNumber }) }
        if let full = fields.fullLog, numbers.contains(full), !numbers.contains(where: { $0 > full }) {
            throw StorageError(
                .damaged,
                "the store's newest log is missing: one followed the log \(full), as \(records.path) tells; "
                    + "restore the store from a backup")
        }
        guard let newest = numbers.max(), let oldest = fields.oldestLog, let next = fields.nextFile, newest >= next,
            oldest < next, !numbers.contains(where: { (oldest..<next).contains($0) })
        else { return }
        throw StorageError(
            .damaged,
            "the store's file \(records.path) is damaged: its end is missing, since it has nothing of the log \(newest); "
                + "restore the store from a backup")
    }
}
