/// The rows of one table that a batch changes, in the order of their keys.
///
/// Rows are numbers, which point into the batch's bytes: searching and moving them counts no references. They are in chunks,
/// so that a new row moves those of one chunk only.
struct BatchRows {
    struct Row {
        var key: Int
        var keyCount: Int32
        /// Negative for a deleted row.
        var valueCount: Int32
        var value: Int

        var isDeleted: Bool { valueCount < 0 }

        func key(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: bytes[key..<key + Int(keyCount)])
        }

        /// Nil for a deleted row.
        func value(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
            isDeleted ? nil : UnsafeRawBufferPointer(rebasing: bytes[value..<value + Int(valueCount)])
        }
    }

    /// Where a row is, or belongs.
    struct Place {
        var chunk: Int
        var index: Int
        var isFound: Bool
    }

    private static let maxChunk = 128

    /// No chunk is empty.
    private(set) var chunks: [[Row]] = []
    /// The first row of each chunk.
    private var firsts: [Row] = []

    var isEmpty: Bool { chunks.isEmpty }

    subscript(_ place: Place) -> Row {
        get { chunks[place.chunk][place.index] }
        set { chunks[place.chunk][place.index] = newValue }
    }

    /// - Parameter bytes: those that rows point into.
    func place(of key: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> Place {
        // Many are put in their order.
        if let last = chunks.last?.last, KeyBytes.order(last.key(in: bytes), key) < 0 {
            return Place(chunk: chunks.count - 1, index: chunks[chunks.count - 1].count, isFound: false)
        }
        let (after, isFirst) = Self.search(firsts, key, bytes)
        if isFirst { return Place(chunk: after, index: 0, isFound: true) }
        guard after > 0 else { return Place(chunk: 0, index: 0, isFound: false) }
        let (index, isFound) = Self.search(chunks[after - 1], key, bytes)
        return Place(chunk: after - 1, index: index, isFound: isFound)
    }

    /// Where the first row is whose key isn't before another.
    ///
    /// - Returns: also whether it has that key.
    private static func search(
        _ rows: [Row], _ key: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer
    ) -> (index: Int, isFound: Bool) {
        rows.withUnsafeBufferPointer { rows in
            var (low, high) = (0, rows.count)
            while low < high {
                let middle = (low + high) / 2
                let order = KeyBytes.order(rows[middle].key(in: bytes), key)
                if order == 0 { return (middle, true) }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return (low, false)
        }
    }

    mutating func insert(_ row: Row, at place: Place) {
        guard !chunks.isEmpty else {
            chunks = [[row]]
            firsts = [row]
            return
        }
        guard place.index < Self.maxChunk else {
            // Those that are put in their order leave full chunks behind.
            let next = place.chunk + 1
            guard next < chunks.count, chunks[next].count < Self.maxChunk else {
                chunks.insert([row], at: next)
                firsts.insert(row, at: next)
                return
            }
            chunks[next].insert(row, at: 0)
            firsts[next] = row
            return
        }
        if place.index == 0 { firsts[place.chunk] = row }
        chunks[place.chunk].insert(row, at: place.index)
        guard chunks[place.chunk].count > Self.maxChunk else { return }
        let upper = Array(chunks[place.chunk][(Self.maxChunk / 2)...])
        chunks[place.chunk].removeSubrange((Self.maxChunk / 2)...)
        chunks.insert(upper, at: place.chunk + 1)
        firsts.insert(upper[0], at: place.chunk + 1)
    }
}

extension BatchRows {
    /// Goes through the rows of a range, either way.
    struct Cursor {
        /// The current row; nil at the end.
        private(set) var row: Row?
        private let chunks: [[Row]]
        private let bytes: [UInt8]
        private let range: KeyRange
        private let reverse: Bool
        private var chunk: Int
        private var index: Int

        init(_ rows: BatchRows, in bytes: [UInt8], _ range: KeyRange, reverse: Bool) {
            chunks = rows.chunks
            self.bytes = bytes
            self.range = range
            self.reverse = reverse
            (chunk, index) = (rows.chunks.count, 0)
            guard !rows.isEmpty, !range.isEmpty else { return }
            if let bound = reverse ? range.upper : range.lower {
                let place = bound.withUnsafeBytes { bound in bytes.withUnsafeBytes { rows.place(of: bound, in: $0) } }
                (chunk, index) = (place.chunk, place.index)
            }
            if reverse { index -= 1 }
            look()
        }

        /// The current row's key and value.
        var entry: (key: [UInt8], value: [UInt8]?)? {
            row.map { row in bytes.withUnsafeBytes { (Array(row.key(in: $0)), row.value(in: $0).map { Array($0) }) } }
        }

        /// The order of the current row's key and another; nil at the end.
        func order(to key: [UInt8]) -> Int? {
            row.map { row in
                key.withUnsafeBytes { key in bytes.withUnsafeBytes { KeyBytes.order(row.key(in: $0), key) } }
            }
        }

        mutating func advance() {
            index += reverse ? -1 : 1
            look()
        }

        private mutating func look() {
            if index < 0, chunk > 0 {
                chunk -= 1
                index = chunks[chunk].count - 1
            } else if chunk < chunks.count, index >= chunks[chunk].count {
                chunk += 1
                index = 0
            }
            row = index >= 0 && chunk < chunks.count ? chunks[chunk][index] : nil
            let isInside = reverse ? order(to: range.lower).map { $0 >= 0 } : range.upper.flatMap(order).map { $0 < 0 }
            if isInside == false { row = nil }
        }
    }
}
