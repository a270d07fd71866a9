import Synchronization

/// About how many bytes wait for the readers of all listeners together.
final class UnreadBytes: Sendable {
    private let total = Atomic<Int>(0)

    var count: Int { total.load(ordering: .relaxed) }

    func add(_ bytes: Int) { total.add(bytes, ordering: .relaxed) }
}
