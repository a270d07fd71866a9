/// Keys from `lower` up to but without `upper`; without an upper bound to the table's end.
package struct KeyRange: Hashable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]?

    @inlinable
    package init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// All keys that start with these bytes.
    @inlinable
    package init(prefix: [UInt8]) { self.init(lower: prefix, upper: KeyBytes.successor(ofPrefix: prefix)) }

    /// All keys of a table.
    package static let all = KeyRange(lower: [], upper: nil)

    @inlinable package var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }
}
