import Synchronization

/// The approximate number of bytes that wait for the readers of all listeners.
final class UnreadBytes: Sendable {
    private let total = Atomic<Int>(0)

    var count: Int { total.load(ordering: .relaxed) }

    func add(_ bytes: Int) { total.add(bytes, ordering: .relaxed) }
}
