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
    }

    private var reads: [ID: Read] = [:]
    /// The pushes since the first of these reads began, as far as they concern any.
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
    /// - Returns: false if it passes none.
    mutating func note(_ push: RealtimePush, of listen: RealtimeSession.ListenID, tag: Int64?) -> Bool {
        guard reads.values.contains(where: { Self.concerns(push, $0) }) else { return false }
        let bytes = push.frameBytes(tag: tag)
        pushes.append(Push(push: push, listen: listen, bytes: bytes))
        self.bytes += bytes
        return true
    }

    /// Ends a read whose answer is sent, or that failed.
    ///
    /// - Returns: the pushes that the answer undoes, in their order.
    mutating func end(_ id: ID) -> [Push] {
        guard let read = reads.removeValue(forKey: id) else { return [] }
        let undone =
            read.version.map { version in
                pushes.dropFirst(read.start - removedCount)
                    .filter { $0.push.version > version && Self.concerns($0.push, read) }
            } ?? []
        let start = reads.values.map(\.start).min() ?? removedCount + pushes.count
        while removedCount < start, let push = pushes.popFirst() {
            removedCount += 1
            bytes -= push.bytes
        }
        return undone
    }

    mutating func cancelAll() {
        for read in reads.values { read.cancellation.cancel() }
        self = Self()
    }

    private static func concerns(_ push: RealtimePush, _ read: Read) -> Bool {
        let path = push.target.path
        return read.path.contains(path) || path.contains(read.path)
    }
}
