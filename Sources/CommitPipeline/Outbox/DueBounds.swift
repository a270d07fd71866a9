import DocumentModel
import StorageEngine
import Synchronization

/// Where each function's due deliveries begin.
///
/// Engines that write logs keep deleted keys for a while, and scans pass them one by one. With this, a look for due deliveries
/// doesn't pass all that have ended before.
final class DueBounds: Sendable {
    private struct Bound {
        /// Nothing of the function is due before it.
        var time = Timestamp(microseconds: .min)
        /// The looks in progress.
        var looks = 0
        /// The first due time that was stored during these looks: their states may not have it.
        var stored = DueBounds.never
    }

    /// The due time of nothing.
    static let never = Timestamp(microseconds: .max)

    private let bounds = Mutex<[String: Bound]>([:])

    /// Begins a look. The state that it looks at must be chosen afterwards.
    ///
    /// - Returns: the range of all due deliveries of the function.
    func begin(_ function: String) -> KeyRange {
        let time = bounds.withLock { bounds in
            var bound = bounds[function] ?? Bound()
            bound.looks += 1
            bounds[function] = bound
            return bound.time
        }
        var range = OutboxKey.due(of: function)
        range.lower = OutboxKey.dueBound(time, function)
        return range
    }

    /// - Parameter first: when the first of all due deliveries is due, as the look has found, or ``never``;
    ///   nil if it has failed.
    func end(_ function: String, first: Timestamp?) {
        bounds.withLock { bounds in
            guard var bound = bounds[function] else { return }
            if let first { bound.time = min(first, bound.stored) }
            bound.looks -= 1
            if bound.looks == 0 { bound.stored = Self.never }
            bounds[function] = bound
        }
    }

    /// Deliveries were stored.
    ///
    /// - Parameter first: when the first of each function's is due.
    func stored(_ first: [String: Timestamp]) {
        guard !first.isEmpty else { return }
        bounds.withLock { bounds in
            for (function, time) in first {
                guard var bound = bounds[function] else { continue }
                bound.time = min(bound.time, time)
                if bound.looks > 0 { bound.stored = min(bound.stored, time) }
                bounds[function] = bound
            }
        }
    }
}
