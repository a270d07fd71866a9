import DocumentModel
import DocumentStore
import TestSupport

extension ModelRun {
    mutating func listen(_ slot: Int, _ target: ListenTarget) throws {
        guard listeners[slot] == nil else { return }
        listeners[slot] = FollowedListener(target: target, listener: try tested.store.listen(to: target))
    }

    /// Takes what waits for the listener in the slot. One that was left goes on where it was.
    mutating func follow(_ slot: Int) async throws {
        guard var followed = listeners[slot] else { return }
        var earlier: Timestamp?
        if followed.listener == nil {
            earlier = followed.position
            followed.listener = try tested.store.listen(to: followed.target, from: earlier, isCounted: true)
        }
        if try await followed.follow(upTo: model.time, model) {
            listeners[slot] = followed
        } else {
            listeners[slot] = nil
            guard let earlier, isPast(earlier) else {
                throw Disagreement(
                    step: nil, description: "\(followed.target) is to start over, from \(earlier as Any)")
            }
        }
    }

    /// Compares the feed since the last time with the commits that there were.
    mutating func compareFeed(pageBytes: Int) async throws {
        let store = tested.store
        while true {
            let after = feedPosition
            let page: FeedPage
            do {
                page = try await Patience.wait(for: "the feed") {
                    try await store.commits(after: after, atMostBytes: pageBytes)
                }
            } catch let error as DocumentError where error.code == .failedPrecondition && isPast(after) {
                feedPosition = model.time
                return
            }
            let expected = model.commits(after: after, upTo: page.position)
            let found = page.commits.map { commit in
                ModelCommit(
                    time: commit.time,
                    changes: commit.changes.map { ModelChange(path: $0.path, before: $0.before, after: $0.after) }
                        .sorted { ModelOrder.compare($0.path, $1.path) < 0 })
            }
            try expect(found == expected, "the feed after \(after) has \(found), not \(expected)")
            feedPosition = page.position
            guard !page.isLast else {
                return try expect(page.position >= model.time, "the feed ends at \(page.position)")
            }
        }
    }

    /// Whether a time is so old that the store may have let go of it.
    func isPast(_ time: Timestamp) -> Bool {
        let latest = tested.latest.microseconds
        let kept = latest - StoreUnderTest.retention.components.seconds * 1_000_000
        return time.microseconds < kept || time < tested.start
    }
}
