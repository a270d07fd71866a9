/// The rows that a writer changes, over the state that they will replace.
///
/// They are kept in memory until the engine stores them, in the order of their keys: of a row that is changed many times
/// only the last state is stored, and rows that are neighbours are stored together.
package final class StorageBatch: StorageWriter {
    /// What was stored before. It doesn't change before the batch is stored.
    package var base: any StorageReader
    private var changes = Changes()

    package init(over base: any StorageReader) { self.base = base }

    package var isEmpty: Bool { changes.tables.allSatisfy(\.isEmpty) && changes.removed.allSatisfy(\.isEmpty) }

    package var heldBytes: Int { changes.bytes.count }

    /// Forgets the rows. Another batch can follow, in the same memory.
    package func removeAll() { changes.removeAll() }

    /// Calls the body for each range of stored rows that is removed. They are removed before the rows that differ are
    /// stored, since some of these may be in a range.
    ///
    /// - Throws: what the body throws.
    package func forEachRemovedRange(_ body: (StorageTable, KeyRange) throws -> Void) rethrows {
        for table in StorageTable.allCases {
            for range in changes.removed[table.rawValue].ranges { try body(table, range) }
        }
    }

    /// Calls the body for each row that differs, by table and key.
    ///
    /// - Parameter body: receives nil in place of a value if the row is deleted, which may never have been stored. The bytes
    ///   are valid during the call.
    /// - Throws: what the body throws.
    package func forEach(
        _ body: (StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) throws -> Void
    ) rethrows {
        try changes.bytes.withUnsafeBytes { bytes in
            for table in StorageTable.allCases {
                for chunk in changes.tables[table.rawValue].chunks {
                    for row in chunk { try body(table, row.key(in: bytes), row.value(in: bytes)) }
                }
            }
        }
    }

    // MARK: Writing

    package func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) {
        key.withUnsafeBytes { key in value.withUnsafeBytes { changes.set(table, key, $0) } }
    }

    package func put(_ table: StorageTable, _ rows: RowBlock) { rows.forEach { changes.set(table, $0, $1) } }

    package func delete(_ table: StorageTable, _ key: [UInt8]) {
        key.withUnsafeBytes { changes.set(table, $0, nil) }
    }

    package func removeRange(_ table: StorageTable, _ range: KeyRange, atMost limit: Int) throws -> [UInt8]? {
        let next = try key(table, range, after: limit)
        changes.remove(table, KeyRange(lower: range.lower, upper: next ?? range.upper))
        return next
    }

    // MARK: Reading

    package func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        if let changed = changes.get(table, key) { return changed }
        guard !changes.removed[table.rawValue].contains(key) else { return nil }
        return try base.get(table, key)
    }

    package func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        var scan = Scan(changes.rows(of: table, range, reverse: reverse), reverse: reverse)
        guard !scan.isAtEnd else { return try scanBase(table, range, reverse: reverse, body) }
        var goesOn = true
        try scanBase(table, range, reverse: reverse) { key, value in
            goesOn = try scan.visit(before: key, body)
            guard goesOn, !scan.replaces(key) else { return goesOn }
            goesOn = try body(key, value)
            return goesOn
        }
        if goesOn { _ = try scan.visit(before: nil, body) }
    }

    package func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        var scan = Scan(changes.rows(of: table, range, reverse: reverse), reverse: reverse)
        guard !scan.isAtEnd else { return try scanBaseKeys(table, range, reverse: reverse, body) }
        var goesOn = true
        try scanBaseKeys(table, range, reverse: reverse) { key in
            goesOn = try scan.visit(before: key) { key, _ in try body(key) }
            guard goesOn, !scan.replaces(key) else { return goesOn }
            goesOn = try body(key)
            return goesOn
        }
        if goesOn { _ = try scan.visit(before: nil) { key, _ in try body(key) } }
    }

    package func count(_ table: StorageTable, _ range: KeyRange) throws -> Int {
        guard changes.rows(of: table, range, reverse: false).row != nil else {
            guard let parts = changes.kept(of: range, in: table) else { return try base.count(table, range) }
            return try parts.reduce(0) { try $0 + base.count(table, $1) }
        }
        var count = 0
        try scanKeys(table, range, reverse: false) { _ in
            count += 1
            return true
        }
        return count
    }

    package func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
        guard changes.concern(table, range) else { return try base.key(table, range, after: count) }
        var (left, found) = (count, [UInt8]?.none)
        try scanKeys(table, range, reverse: false) { key in
            if left == 0 { found = key }
            left -= 1
            return found == nil
        }
        return found
    }

    // MARK: Stored rows that stay

    private func scanBase(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        guard let parts = changes.kept(of: range, in: table) else {
            return try base.scan(table, range, reverse: reverse, body)
        }
        var goesOn = true
        for part in reverse ? parts.reversed() : parts where goesOn {
            try base.scan(table, part, reverse: reverse) { key, value in
                goesOn = try body(key, value)
                return goesOn
            }
        }
    }

    private func scanBaseKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        guard let parts = changes.kept(of: range, in: table) else {
            return try base.scanKeys(table, range, reverse: reverse, body)
        }
        var goesOn = true
        for part in reverse ? parts.reversed() : parts where goesOn {
            try base.scanKeys(table, part, reverse: reverse) { key in
                goesOn = try body(key)
                return goesOn
            }
        }
    }

    /// All changed rows.
    private struct Changes {
        /// By the tables' numbers.
        var tables = [BatchRows](repeating: BatchRows(), count: StorageTable.allCases.count)
        /// The stored rows that aren't seen any more, likewise. Changed rows are in ``tables``, wherever they are.
        var removed = [RemovedRanges](repeating: RemovedRanges(), count: StorageTable.allCases.count)
        /// The keys and values of all rows. A value that was replaced stays.
        var bytes: [UInt8] = []

        private static let minMemory = 1 << 16
        /// What is larger isn't kept for the next batch.
        private static let maxMemory = 1 << 20

        init() { bytes.reserveCapacity(Self.minMemory) }

        mutating func removeAll() {
            for table in tables.indices {
                tables[table] = BatchRows()
                removed[table] = RemovedRanges()
            }
            bytes.removeAll(keepingCapacity: bytes.capacity <= Self.maxMemory)
            bytes.reserveCapacity(Self.minMemory)
        }

        /// - Parameter value: nil deletes the row.
        mutating func set(
            _ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?
        ) {
            let place = place(of: key, in: table)
            let valueCount = Int32(value?.count ?? -1)
            guard !place.isFound else {
                tables[table.rawValue][place].valueCount = valueCount
                tables[table.rawValue][place].value = append(value)
                return
            }
            let start = bytes.count
            bytes.append(contentsOf: key)
            let row = BatchRows.Row(
                key: start, keyCount: Int32(key.count), valueCount: valueCount, value: append(value))
            tables[table.rawValue].insert(row, at: place)
        }

        /// Removes the stored rows of a range, and those that were put there.
        mutating func remove(_ table: StorageTable, _ range: KeyRange) {
            for key in putKeys(of: table, range) { key.withUnsafeBytes { set(table, $0, nil) } }
            removed[table.rawValue].insert(range)
        }

        private func putKeys(of table: StorageTable, _ range: KeyRange) -> [[UInt8]] {
            var keys: [[UInt8]] = []
            var cursor = rows(of: table, range, reverse: false)
            while let row = cursor.row {
                if !row.isDeleted { keys.append(bytes.withUnsafeBytes { Array(row.key(in: $0)) }) }
                cursor.advance()
            }
            return keys
        }

        /// The parts of a range whose stored rows are seen; nil if nothing is removed from the table.
        func kept(of range: KeyRange, in table: StorageTable) -> [KeyRange]? {
            removed[table.rawValue].isEmpty ? nil : removed[table.rawValue].kept(of: range)
        }

        /// Whether the stored rows of a range may not be seen as they are.
        func concern(_ table: StorageTable, _ range: KeyRange) -> Bool {
            !removed[table.rawValue].isEmpty || rows(of: table, range, reverse: false).row != nil
        }

        private mutating func append(_ value: UnsafeRawBufferPointer?) -> Int {
            let start = bytes.count
            if let value { bytes.append(contentsOf: value) }
            return start
        }

        /// - Returns: nil if the row isn't changed; nil within if it is deleted.
        func get(_ table: StorageTable, _ key: [UInt8]) -> [UInt8]?? {
            guard !tables[table.rawValue].isEmpty else { return nil }
            let place = key.withUnsafeBytes { self.place(of: $0, in: table) }
            guard place.isFound else { return nil }
            return .some(bytes.withUnsafeBytes { tables[table.rawValue][place].value(in: $0).map { Array($0) } })
        }

        func rows(of table: StorageTable, _ range: KeyRange, reverse: Bool) -> BatchRows.Cursor {
            BatchRows.Cursor(tables[table.rawValue], in: bytes, range, reverse: reverse)
        }

        private func place(of key: UnsafeRawBufferPointer, in table: StorageTable) -> BatchRows.Place {
            bytes.withUnsafeBytes { tables[table.rawValue].place(of: key, in: $0) }
        }
    }

    /// The changed rows of a scan's range, which are visited between the stored ones.
    private struct Scan {
        private var rows: BatchRows.Cursor
        private let reverse: Bool

        init(_ rows: BatchRows.Cursor, reverse: Bool) {
            self.rows = rows
            self.reverse = reverse
        }

        var isAtEnd: Bool { rows.row == nil }

        /// Visits those before a stored row, or all that are left.
        ///
        /// - Returns: whether the scan goes on.
        mutating func visit(before key: [UInt8]?, _ body: ([UInt8], [UInt8]) throws -> Bool) rethrows -> Bool {
            while let row = rows.row {
                if let key, let order = rows.order(to: key) {
                    guard reverse ? order > 0 : order < 0 else { break }
                }
                let entry = row.isDeleted ? nil : rows.entry
                rows.advance()
                if let entry, let value = entry.value, try !body(entry.key, value) { return false }
            }
            return true
        }

        /// Whether a stored row was changed. If it has a value, that is visited next.
        func replaces(_ key: [UInt8]) -> Bool { rows.order(to: key) == 0 }
    }
}
