/// Hashes that were seen lately, in little memory: some are forgotten early.
package struct RecentHashes: Sendable {
    private var places = [UInt32](repeating: 0, count: Self.count)

    private static let count = 4_096

    package init() {}

    /// - Returns: whether it wasn't seen lately.
    package mutating func insert(_ hash: UInt64) -> Bool {
        let (place, rest) = (Int(truncatingIfNeeded: hash) & (Self.count - 1), UInt32(truncatingIfNeeded: hash >> 32))
        defer { places[place] = rest }
        return places[place] != rest
    }
}
