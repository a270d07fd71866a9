import Synchronization

/// Long work of several callers, who take turns: one caller's pieces don't wait for all those of another.
package final class FairWork: Sendable {
    private let work: LongWork
    private let waiting = Mutex(FairQueue<UInt64, @Sendable () -> Void>(places: .max))

    package init(_ label: String) { work = LongWork(label) }

    package func add(of caller: UInt64, _ piece: @escaping @Sendable () -> Void) {
        waiting.withLock { _ = $0.append(piece, of: caller) }
        work.add { [self] in
            let next = waiting.withLock { $0.popFirst() }
            next?()
        }
    }
}
