import Synchronization

/// The open Listen streams, all of which learn that the rules have changed.
final class ListenStreams: Sendable {
    private let open = Mutex<[ObjectIdentifier: ListenStream]>([:])

    private let figures: ClientFigures

    init(_ figures: ClientFigures) { self.figures = figures }

    func add(_ stream: ListenStream) {
        open.withLock { $0[ObjectIdentifier(stream)] = stream }
        figures.addGRPCListens(1)
    }

    func remove(_ stream: ListenStream) {
        let removed = open.withLock { $0.removeValue(forKey: ObjectIdentifier(stream)) }
        if removed != nil { figures.addGRPCListens(-1) }
    }

    func refresh() {
        for stream in open.withLock({ Array($0.values) }) { stream.refresh() }
    }

    func decideAgain() {
        for stream in open.withLock({ Array($0.values) }) { stream.decideAgain() }
    }
}
