import Synchronization

/// The open Listen streams, all of which learn that the rules have changed.
final class ListenStreams: Sendable {
    private let open = Mutex<[ObjectIdentifier: ListenStream]>([:])

    func add(_ stream: ListenStream) { open.withLock { $0[ObjectIdentifier(stream)] = stream } }
    func remove(_ stream: ListenStream) { open.withLock { $0[ObjectIdentifier(stream)] = nil } }

    func decideAgain() {
        for stream in open.withLock({ Array($0.values) }) { stream.decideAgain() }
    }
}
