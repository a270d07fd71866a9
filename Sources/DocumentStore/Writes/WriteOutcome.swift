import DocumentModel

/// What a list of writes changes.
struct WriteOutcome: Sendable {
    /// One change per document, in the order of each document's first write. Documents that the writes leave unchanged
    /// have none.
    private(set) var changes: [DocumentChange] = []
    /// For each change, about what the document takes in memory after it.
    private(set) var weights: [Int] = []
    var results: [WriteResult] = []

    mutating func add(_ change: DocumentChange, weight: Int) {
        changes.append(change)
        weights.append(weight)
    }

    /// Gives the documents that it writes the time of its commit, instead of the one that it was computed for. Server
    /// timestamps in their fields stay.
    mutating func move(from computed: Timestamp, to committed: Timestamp) {
        for index in changes.indices {
            if changes[index].after?.createTime == computed { changes[index].after?.createTime = committed }
            if changes[index].after?.updateTime == computed { changes[index].after?.updateTime = committed }
        }
        for index in results.indices where results[index].updateTime == computed {
            results[index].updateTime = committed
        }
    }
}
