/// Keys from `lower` up to but without `upper`; without an upper bound to the table's end.
public struct KeyRange: Hashable, Sendable {
    public var lower: [UInt8]
    public var upper: [UInt8]?

    @inlinable
    public init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// All keys that start with these bytes.
    @inlinable
    public init(prefix: [UInt8]) { self.init(lower: prefix, upper: KeyBytes.successor(ofPrefix: prefix)) }

    /// All keys of a table.
    public static let all = KeyRange(lower: [], upper: nil)

    @inlinable public var isEmpty: Bool { upper.map { !lower.lexicographicallyPrecedes($0) } ?? false }
}
