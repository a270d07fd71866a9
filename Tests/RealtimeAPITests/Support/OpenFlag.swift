import Synchronization

/// Whether something is still open.
final class OpenFlag: Sendable {
    private let flag = Mutex(true)

    var isSet: Bool { flag.withLock { $0 } }

    func clear() { flag.withLock { $0 = false } }
}
