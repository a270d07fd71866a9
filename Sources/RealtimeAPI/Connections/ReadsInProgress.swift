import DequeModule
import DocumentModel
import RealtimeModel

/// A client's reads that aren't answered yet, and the pushes that passed them.
///
/// What a read answers may be of an earlier state than a push before it. Clients take the answer for a later one, so what it
/// undoes is sent again after it.
struct ReadsInProgress {
    typealias ID = RealtimeSession.OperationID

    struct Push {
        var push: RealtimePush
        var listen: RealtimeSession.ListenID
        fileprivate var bytes: Int
    }

    private struct Read {
        var path: RealtimePath
        var cancellation: OperationCancellation
        /// The number of pushes when it began.
        var start: Int
        /// The version of the state that was read; nil until then.
        var version: Int64?

        func concerns(_ push: RealtimePush) -> Bool {
            let target = push.target.path
            return path.contains(target) || target.contains(path)
        }
    }

    private var reads: [ID: Read] = [:]
    /// All pushes since the first that concerns a read.
    private var pushes: Deque<Push> = []
    private var removedCount = 0
    /// What the kept pushes take.
    private(set) var bytes = 0

    mutating func begin(_ id: ID, at path: RealtimePath, _ cancellation: OperationCancellation) {
        reads[id] = Read(path: path, cancellation: cancellation, start: removedCount + pushes.count)
    }

    /// The state was read that the answer is of. The answer may wait for others.
    mutating func hasRead(_ id: ID, version: Int64) { reads[id]?.version = version }

    /// Keeps a push for the reads that it passes.
    ///
    /// - Returns: false if there is no need to.
    mutating func note(_ push: RealtimePush, of listen: RealtimeSession.ListenID, tag: Int64?) -> Bool {
        guard !reads.isEmpty, !pushes.isEmpty || reads.values.contains(where: { $0.concerns(push) }) else {
            return false
        }
        let bytes = push.frameBytes(tag: tag)
        pushes.append(Push(push: push, listen: listen, bytes: bytes))
        self.bytes += bytes
        return true
    }

    /// Ends reads whose answers are sent, or that failed.
    ///
    /// - Returns: the pushes to be sent again, in their order: all since the first that an answer undoes, which may be of other
    ///   places, too, that have changed again since.
    mutating func end(_ ids: [ID]) -> [Push] {
        let ended = ids.compactMap { reads.removeValue(forKey: $0) }
        let first = pushes.firstIndex { push in
            ended.contains { $0.version.map { push.push.version > $0 } ?? false && $0.concerns(push.push) }
        }
        let undone = first.map { Array(pushes[$0...]) } ?? []
        let start = reads.values.map(\.start).min() ?? .max
        while removedCount < start, let push = pushes.popFirst() {
            removedCount += 1
            bytes -= push.bytes
        }
        if pushes.isEmpty { pushes = [] }
        return undone
    }

    mutating func cancelAll() {
        for read in reads.values { read.cancellation.cancel() }
        self = Self()
    }
}
