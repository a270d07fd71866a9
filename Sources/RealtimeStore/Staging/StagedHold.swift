import Synchronization

/// Whether the rows of a staged value are still wanted.
///
/// The writer asks; so nothing has to reach it when the value is released, while the disk is full for example.
final class StagedHold: Sendable {
    private let released = Atomic(false)

    init() {}

    var isReleased: Bool { released.load(ordering: .acquiring) }

    func release() { released.store(true, ordering: .releasing) }
}
