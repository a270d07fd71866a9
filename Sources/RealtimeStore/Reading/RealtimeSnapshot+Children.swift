import DocumentModel
import RealtimeModel
import StorageEngine

extension RealtimeSnapshot {
    /// A child as a scan comes to it.
    struct Child {
        let key: RealtimeKey
        /// The child's path.
        let path: ArraySlice<UInt8>
        /// The path of the first row at or below the child, or of the last one if the scan goes backwards.
        let rowPath: ArraySlice<UInt8>
        /// That row; nil if rows weren't asked for.
        let row: [UInt8]?

        /// The row, if it is the child's own.
        func stored() throws(DecodingFailure) -> StoredNode? {
            guard rowPath.count == path.count, let row else { return nil }
            return try StoredNode(row, at: rowPath)
        }
    }

    /// Visits the children of a node by key until the body returns false. What is below a child is skipped.
    ///
    /// - Parameter range: paths of children.
    func eachChild(
        of parent: [UInt8], in range: KeyRange, reverse: Bool = false, withRows: Bool = false,
        _ body: (Child) throws -> Bool
    ) throws {
        var rest: KeyRange? = range
        var current: [UInt8] = []
        var skipped = 0
        while let range = rest, !range.isEmpty {
            rest = nil
            func visit(_ path: ArraySlice<UInt8>, _ row: [UInt8]?) throws -> Bool {
                if !current.isEmpty, path.starts(with: current) {
                    skipped += 1
                    guard skipped == Self.maxSkipped else { return true }
                    // The child has many rows: the next one is found by its key.
                    rest =
                        reverse
                        ? KeyRange(lower: range.lower, upper: current)
                        : KeyBytes.successor(ofPrefix: current).map { KeyRange(lower: $0, upper: range.upper) }
                    return false
                }
                var reader = TreeKeyReader(path.dropFirst(parent.count))
                let key = try reader.key()
                let child = path[..<reader.position]
                current = Array(child)
                skipped = 0
                return try body(Child(key: key, path: child, rowPath: path, row: row))
            }
            if withRows {
                try rows.scan(range, reverse: reverse) { try visit($0, $1) }
            } else {
                try rows.scanPaths(range, reverse: reverse) { try visit($0, nil) }
            }
        }
    }

    /// The rows below a child that are passed before the next child is looked up.
    private static let maxSkipped = 4

    /// Whether clients take the object for an array: see `RealtimeChildren.isArray`.
    func isArray(at path: [UInt8]) throws -> Bool {
        let children = TreeKey.children(of: path)
        var largest: Int?
        try eachChild(of: path, in: children, reverse: true) { child in
            largest = child.key.arrayIndex
            return false
        }
        guard let largest else { return false }
        var count = 0
        var isArray = true
        try eachChild(of: path, in: children) { child in
            isArray = child.key.arrayIndex != nil
            count += 1
            return isArray
        }
        return isArray && largest < 2 * count
    }
}
