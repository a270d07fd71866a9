import Synchronization

/// The open streams of servers, which end once the key of their token is revoked.
final class RevocableStreams: Sendable {
    private let open = Mutex<[ObjectIdentifier: @Sendable () -> Void]>([:])

    /// - Parameter check: ends the stream if its token is no longer valid. Called at once too, since the key may have been
    ///   revoked after the token was verified.
    func add(_ stream: some AnyObject, of requester: Requester, check: @escaping @Sendable () -> Void) {
        guard requester.isRevocable else { return }
        open.withLock { $0[ObjectIdentifier(stream)] = check }
        check()
    }

    func remove(_ stream: some AnyObject) { open.withLock { $0[ObjectIdentifier(stream)] = nil } }

    /// Checks all streams.
    func checkAll() {
        for check in open.withLock({ Array($0.values) }) { check() }
    }
}
