import DocumentModel

/// The documents on which transactions have lately conflicted.
///
/// A function's transaction that reads one waits for its turn there, in place of losing its first attempt. A document is
/// hot for as long as transactions conflict on it, or wait for it, and a little longer.
struct HotDocuments: Sendable {
    /// Until when each document is hot.
    private var ends: [DocumentPath: Duration] = [:]

    /// How long a document stays hot after a conflict or a wait.
    private let time: Duration
    private static let maxCount = 1_000

    init(time: Duration) { self.time = time }

    var isEmpty: Bool { ends.isEmpty }

    mutating func note(_ path: DocumentPath, at now: Duration) {
        if ends.count >= Self.maxCount, ends[path] == nil {
            ends = ends.filter { $0.value > now }
            // The others stay: a flood of conflicts elsewhere takes no turn away.
            guard ends.count < Self.maxCount else { return }
        }
        ends[path] = now + time
    }

    /// Those of the documents that are hot.
    mutating func hot(among paths: some Sequence<DocumentPath>, at now: Duration) -> Set<DocumentPath> {
        var hot: Set<DocumentPath> = []
        for path in paths {
            guard let end = ends[path] else { continue }
            if end > now { hot.insert(path) } else { ends[path] = nil }
        }
        return hot
    }
}
