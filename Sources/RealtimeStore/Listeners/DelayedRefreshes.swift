import CommitPipeline

/// Groups that wait for their query's result, for which the readers had no time.
struct DelayedRefreshes {
    typealias Element = (namespace: String, group: QueryGroup)

    private var groups = IndexedQueue<Element>()
    /// When the results are asked for again; nil if none waits.
    private(set) var retryTime: Duration?

    private static let pause: Duration = .milliseconds(200)
    /// The results that are asked for at a time, so that they don't fill the readers' queue.
    private static let maxRetries = 256

    mutating func append(_ group: QueryGroup, in namespace: String, at now: Duration) {
        groups.append((namespace, group))
        if retryTime == nil { retryTime = now + Self.pause }
    }

    /// - Returns: the groups whose results are to be asked for now, those that wait longest first.
    mutating func takeDue(at now: Duration) -> [Element] {
        guard let time = retryTime, time <= now else { return [] }
        var due: [Element] = []
        while due.count < Self.maxRetries, let next = groups.popFirst() { due.append(next) }
        retryTime = groups.isEmpty ? nil : now + Self.pause
        return due
    }
}
