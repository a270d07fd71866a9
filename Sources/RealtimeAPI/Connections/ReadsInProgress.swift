import DocumentModel
import RealtimeModel

/// A client's reads that aren't answered yet, and the pushes that passed each.
///
/// What a read answers may be of an earlier state than a push before it. Clients take the answer for a later one, so what it
/// undoes is sent again after it.
struct ReadsInProgress {
    typealias ID = RealtimeSession.OperationID

    struct Push {
        var push: RealtimePush
        var listen: RealtimeSession.ListenID
        var bytes: Int
        /// The place among all.
        fileprivate var number: Int
    }

    /// An object: each push is appended where the others are.
    private final class Read {
        /// What is read, or what a push has changed together with it. What changes there later must be sent again after that push.
        var path: RealtimePath
        let cancellation: OperationCancellation
        /// The version of the state that was read; nil until then.
        var version: Int64?
        var pushes: [Push] = []
        var bytes = 0

        init(_ path: RealtimePath, _ cancellation: OperationCancellation) {
            self.path = path
            self.cancellation = cancellation
        }

        /// The pushes since the first that the answer undoes.
        var undone: ArraySlice<Push> {
            guard let version else { return [] }
            return pushes.drop { $0.push.version <= version }
        }
    }

    private var reads: [ID: Read] = [:]
    private var noted = 0
    /// What the pushes take that are kept. One that passes several reads counts for each.
    private(set) var bytes = 0

    /// What the pushes take that have passed one read, at most.
    var maxBytes: Int { reads.values.reduce(0) { max($0, $1.bytes) } }

    mutating func begin(_ id: ID, at path: RealtimePath, _ cancellation: OperationCancellation) {
        reads[id] = Read(path, cancellation)
    }

    /// The state was read that the answer is of. The answer may wait for others.
    mutating func hasRead(_ id: ID, version: Int64) { reads[id]?.version = version }

    /// Keeps a push for the reads that it passes.
    ///
    /// - Returns: whether there are any.
    mutating func note(_ push: RealtimePush, of listen: RealtimeSession.ListenID, tag: Int64?) -> Bool {
        guard !reads.isEmpty else { return false }
        let target = push.target.path
        let before = bytes
        for read in reads.values {
            let isWider = target.contains(read.path)
            guard isWider || read.path.contains(target) else { continue }
            let bytes = push.frameBytes(tag: tag)
            if isWider { read.path = target }
            read.pushes.append(Push(push: push, listen: listen, bytes: bytes, number: noted))
            read.bytes += bytes
            self.bytes += bytes
        }
        noted += 1
        return bytes > before
    }

    /// The pushes that are kept for a read, in their order.
    func pushes(passing id: ID) -> [Push] { reads[id]?.pushes ?? [] }

    /// Ends reads whose answers are sent, or that failed.
    ///
    /// - Returns: the pushes that the answers undo, in their order.
    mutating func end(_ ids: [ID]) -> [Push] {
        let ended = ids.compactMap { reads.removeValue(forKey: $0) }
        for read in ended { bytes -= read.bytes }
        guard ended.count > 1 else { return ended.first.map { Array($0.undone) } ?? [] }
        var undone: [Int: Push] = [:]
        for push in ended.flatMap(\.undone) { undone[push.number] = push }
        return undone.values.sorted { $0.number < $1.number }
    }

    mutating func cancelAll() {
        for read in reads.values { read.cancellation.cancel() }
        self = Self()
    }
}
