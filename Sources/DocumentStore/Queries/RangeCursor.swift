import StorageEngine

/// Iterates over ranges of a table, page by page, and can leap forward.
final class RangeCursor {
    typealias Row = (key: [UInt8], value: [UInt8])

    private static let maxPage = 256
    private static let maxPageBytes = 256 * 1024

    private let storage: any StorageReader
    private let table: StorageTable
    private let reverse: Bool
    private let isKeyEnough: Bool
    /// The remaining ranges, in the order of iteration.
    private var ranges: ArraySlice<KeyRange>
    /// The boundary of the keys already passed: keys below it, or in reverse the keys from it on.
    private var bound: [UInt8]?
    private var page: [Row] = []
    private var next = 0
    /// How many rows of the page were returned and not skipped by a leap.
    private var used = 0
    private var pageSize: Int

    /// - Parameters:
    ///   - firstPage: the number of rows that are likely to be needed.
    ///   - isKeyEnough: whether rows may be read without their values.
    init(
        _ storage: any StorageReader, _ table: StorageTable, _ ranges: [KeyRange], reverse: Bool, firstPage: Int,
        isKeyEnough: Bool
    ) {
        self.storage = storage
        self.table = table
        self.ranges = ranges[...]
        self.reverse = reverse
        self.isKeyEnough = isKeyEnough
        pageSize = min(max(firstPage, 4), Self.maxPage)
    }

    func row() throws -> Row? {
        while next == page.count {
            guard let range = ranges.first else { return nil }
            try fill(range)
        }
        next += 1
        used += 1
        return page[next - 1]
    }

    /// Skips keys below a bound, or in reverse the keys from the bound on.
    func leap(to bound: [UInt8]) {
        while next < page.count, isBehind(page[next].key, bound) { next += 1 }
        guard next == page.count else { return }
        if let old = self.bound, !isBehind(old, bound) { return }
        self.bound = bound
        // Short leaps stay within larger pages; after a long leap few rows may be needed.
        if used < page.count / 4 + 2 { pageSize = 4 }
    }

    private func isBehind(_ key: [UInt8], _ bound: [UInt8]) -> Bool {
        key.lexicographicallyPrecedes(bound) != reverse
    }

    private func fill(_ range: KeyRange) throws {
        var range = range
        if let bound {
            let rest = reverse ? KeyRange(lower: [], upper: bound) : KeyRange(lower: bound, upper: nil)
            range = range.intersection(rest)
        }
        page.removeAll(keepingCapacity: true)
        (next, used) = (0, 0)
        var bytes = 0
        if isKeyEnough {
            try storage.scanKeys(table, range, reverse: reverse) { key in
                page.append((key, []))
                return page.count < pageSize
            }
        } else {
            try storage.scan(table, range, reverse: reverse) { key, value in
                page.append((key, value))
                bytes += value.count
                return page.count < pageSize && bytes < Self.maxPageBytes
            }
        }
        if let last = page.last, page.count >= pageSize || bytes >= Self.maxPageBytes {
            bound = reverse ? last.key : last.key + [0]
        } else {
            ranges.removeFirst()
        }
        pageSize = min(pageSize * 2, Self.maxPage)
    }
}
