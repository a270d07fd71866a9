/// A large value whose rows a store has already, beside the tree, and which a write puts into its place.
///
/// So neither the value is held in memory, nor does the write that makes it visible take longer than a small one. The
/// store keeps the rows as long as the object lives, or the write has put them into place.
package final class StagedValue: Sendable {
    /// The number of the tree that has the rows.
    package let tree: UInt32
    /// Where the value belongs.
    package let path: RealtimePath
    package let priority: RealtimePriority?
    package let rowCount: Int
    /// The numbers of the indexes that the rows have entries for.
    package let indexes: Set<UInt32>
    private let hold: any AnyObject & Sendable

    /// - Parameter hold: the store keeps the rows as long as this object lives.
    package init(
        tree: UInt32, at path: RealtimePath, priority: RealtimePriority?, rowCount: Int, indexes: Set<UInt32>,
        hold: any AnyObject & Sendable
    ) {
        self.tree = tree
        self.path = path
        self.priority = priority
        self.rowCount = rowCount
        self.indexes = indexes
        self.hold = hold
    }
}

extension StagedValue: Equatable {
    package static func == (a: StagedValue, b: StagedValue) -> Bool { a === b }
}
