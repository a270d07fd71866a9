package import DocumentModel

/// One commit as the change feed delivers it.
package struct FeedCommit: Hashable, Sendable {
    /// When it happened; the feed can continue after this position.
    package var time: Timestamp
    /// One change for each document, without documents that ended as they began, in the order of their keys.
    package var changes: [DocumentChange]

    package init(time: Timestamp, changes: [DocumentChange]) {
        self.time = time
        self.changes = changes
    }
}

/// Durable commits, in order.
package struct FeedPage: Hashable, Sendable {
    package var commits: [FeedCommit]
    /// The position from which to continue.
    package var position: Timestamp
    /// Whether the page ends with the newest commit.
    package var isLast: Bool
}
