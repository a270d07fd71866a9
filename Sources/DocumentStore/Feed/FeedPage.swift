package import DocumentModel

/// One commit as the change feed gives it.
package struct FeedCommit: Hashable, Sendable {
    /// When it happened, and the position to go on after.
    package var time: Timestamp
    /// Of each document once, without those that ended as they began; in the order of their keys.
    package var changes: [DocumentChange]

    package init(time: Timestamp, changes: [DocumentChange]) {
        self.time = time
        self.changes = changes
    }
}

/// Commits in their order, all durable.
package struct FeedPage: Hashable, Sendable {
    package var commits: [FeedCommit]
    /// The position to go on after.
    package var position: Timestamp
    /// Whether the page ends with the newest commit there was.
    package var isLast: Bool
}
