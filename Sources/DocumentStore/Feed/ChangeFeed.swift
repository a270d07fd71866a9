import CommitPipeline
import StorageEngine
package import DocumentModel

/// All commits after a position, in order: first from the log and then as they happen.
///
/// Ends when the store shuts down or the task is cancelled. All delivered commits are durable, so a consumer that
/// stores the time of the last commit it has handled can continue from there after any crash, without missing or
/// repeating one.
package struct ChangeFeed: AsyncSequence, Sendable {
    package typealias Element = FeedCommit

    let store: DocumentStore
    let position: Timestamp
    let pageBytes: Int

    package func makeAsyncIterator() -> Iterator {
        Iterator(store: store, position: position, pageBytes: pageBytes)
    }

    package struct Iterator: AsyncIteratorProtocol {
        let store: DocumentStore
        var position: Timestamp
        let pageBytes: Int
        private var waiting: ArraySlice<FeedCommit> = []
        private var mayHaveMore = true

        init(store: DocumentStore, position: Timestamp, pageBytes: Int) {
            self.store = store
            self.position = position
            self.pageBytes = pageBytes
        }

        /// - Throws: `DocumentError(.failedPrecondition)` if the log no longer reaches back to the position: the
        ///   consumer must start over.
        package mutating func next() async throws -> FeedCommit? {
            while true {
                if let commit = waiting.popFirst() { return commit }
                if !mayHaveMore, !(await store.pipeline.signal.wait(after: position.microseconds)) { return nil }
                guard !Task.isCancelled else { return nil }
                let page = try await store.commits(after: position, atMostBytes: pageBytes)
                waiting = page.commits[...]
                position = page.position
                mayHaveMore = !page.isLast
            }
        }
    }
}

extension DocumentStore {
    package static let defaultPageBytes = 4 * 1024 * 1024

    /// The commits after a position.
    ///
    /// - Parameters:
    ///   - position: the time of a commit, or of any state of the store.
    ///   - atMostBytes: the stored bytes after which the page ends; the commit that reaches them is still included.
    ///   - completion: called with `failedPrecondition` if the log doesn't have all commits after the position.
    package func commits(
        after position: Timestamp, atMostBytes: Int = defaultPageBytes,
        completion: @escaping @Sendable (Result<FeedPage, DocumentError>) -> Void
    ) {
        view(completion) { view, time in
            try ChangeLog.page(
                after: position.microseconds, snapshot: time.microseconds, atMostBytes: atMostBytes, in: view.storage)
        }
    }

    /// The commits after a position.
    ///
    /// - Throws: `failedPrecondition` if the log doesn't have all of them.
    package func commits(
        after position: Timestamp, atMostBytes: Int = defaultPageBytes
    ) async throws(DocumentError) -> FeedPage {
        try await withCheckedContinuation { continuation in
            commits(after: position, atMostBytes: atMostBytes) { continuation.resume(returning: $0) }
        }.get()
    }

    /// The time of the newest state; a feed from there delivers what happens from now on.
    package func newestPosition() async throws(DocumentError) -> Timestamp {
        try await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Timestamp, DocumentError>, Never>) in
            view({ continuation.resume(returning: $0) }) { _, time in time }
        }.get()
    }

    /// All commits after a position as they happen.
    package func feed(after position: Timestamp, pageBytes: Int = defaultPageBytes) -> ChangeFeed {
        ChangeFeed(store: self, position: position, pageBytes: pageBytes)
    }
}
