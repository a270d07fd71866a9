import CommitPipeline

/// Durable commits that the listeners' thread has yet to deliver, whose effects a snapshot may have already.
///
/// Listeners to queries are brought up to date by snapshots. So that each commit is a push of its own, those that are to come
/// are undone in a snapshot. Where that is too much, the windows of their namespace take them at once.
struct LaterCommits {
    /// In their order.
    private var commits = IndexedQueue<RealtimeCommitFeed>()
    /// The versions up to which the windows of namespaces have taken commits that are to come.
    private var taken: [String: Int64] = [:]

    /// If more commits are to come, or more of their rows, they aren't undone: else the thread would fall behind.
    private static let maxUndone = 256

    mutating func append(_ commit: RealtimeCommitFeed) { commits.append(commit) }

    mutating func removeFirst() { _ = commits.popFirst() }

    /// Forgets what has been delivered.
    mutating func reach(_ position: Int64) {
        if !taken.isEmpty { taken = taken.filter { $0.value > position } }
    }

    // MARK: Taken commits

    /// The version that the windows of a namespace have, if all up to a position are delivered.
    func taken(_ namespace: String, from position: Int64) -> Int64 { max(position, taken[namespace] ?? position) }

    func hasTaken(_ commit: RealtimeCommitFeed) -> Bool { commit.version <= taken[commit.namespace] ?? .min }

    /// The commits that the windows of a namespace have taken, and that are to come.
    func taken(of namespace: String) -> [RealtimeCommitFeed] {
        guard taken[namespace] != nil else { return [] }
        return all(of: namespace) { hasTaken($0) }
    }

    /// - Returns: the commits up to a version that the windows of a namespace don't have, and take now.
    mutating func take(_ namespace: String, upTo version: Int64, from position: Int64) -> [RealtimeCommitFeed] {
        defer { taken[namespace] = version }
        return missing(in: namespace, upTo: version, from: position)
    }

    // MARK: Undoing

    /// What undoes the commits that a snapshot of a version has and the windows of a namespace don't.
    ///
    /// - Returns: nil if they can't be undone, or if there are many.
    func undone(in namespace: String, _ generation: Int64, upTo version: Int64, from position: Int64) -> RowChanges? {
        guard commits.count <= Self.maxUndone else { return nil }
        let undone = RowChanges()
        for commit in missing(in: namespace, upTo: version, from: position).reversed() {
            // With other namespaces, its rows may be elsewhere, and have other indexes.
            guard let before = commit.before, commit.generation == generation,
                undone.count + before.count <= Self.maxUndone
            else { return nil }
            for (path, row) in before {
                if let row { undone.put(path, row, isStructural: true) } else { undone.delete(path) }
            }
        }
        return undone
    }

    private func missing(in namespace: String, upTo version: Int64, from position: Int64) -> [RealtimeCommitFeed] {
        let known = taken(namespace, from: position)
        return all(of: namespace) { $0.version > known && $0.version <= version }
    }

    private func all(of namespace: String, where isMeant: (RealtimeCommitFeed) -> Bool) -> [RealtimeCommitFeed] {
        commits.positions.compactMap { position in
            commits[position].flatMap { $0.namespace == namespace && isMeant($0) ? $0 : nil }
        }
    }
}
