import StorageEngine
import DocumentModel
import DocumentStore
import Foundation

/// Measures the time from the call of a commit until listeners have received its changes.
struct ListenerBenchmark: Benchmark {
    static let name = "store"
    private static let count = 1000
    private static let collection = "rooms"

    var pace: Pace

    /// The listeners of a measurement, and which of them a commit notifies.
    private enum Audience: String, CaseIterable {
        case one = "1 listener on a query"
        case ofDocuments = "1,000 listeners on documents, 1 is notified"
        case ofQueries = "1,000 listeners on queries, 1 is notified"
        case all = "1,000 listeners on one query, the last is notified"
    }

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Listeners straight on the store, 1 writer",
            notes: ["from the call of the commit; reference: until the commit is acknowledged"])
        for audience in Audience.allCases {
            let engine = try MeasuredEngine.open(directory.appendingPathComponent("\(audience).sqlite").path)
            let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
            try store.start()
            let (notified, answered) = try await measure(audience, store)
            await store.shutdown()
            try engine.close()
            section.check(notified, audience.rawValue)
            for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
                section.add(
                    Row(
                        "\(audience.rawValue): \(name)", .milliseconds(notified.percentile(part)),
                        beside: .milliseconds(answered.percentile(part))))
            }
            section.add(
                Row("\(audience.rawValue): CPU each", .microseconds(notified.cpuPerOperation)))
        }
        return section
    }

    private func measure(
        _ audience: Audience, _ store: DocumentStore
    ) async throws -> (notified: LoadReport, answered: LoadReport) {
        _ = try await store.commit(
            (0..<Self.count).map { Write(path: try path($0), operation: .set(fields($0, count: -1))) })
        let listeners = try (0..<(audience == .one ? 1 : Self.count)).map {
            try store.listen(to: try target(audience, $0))
        }
        for listener in listeners { _ = try await Self.next(of: listener) }
        var (notified, answered) = (LoadReport(), LoadReport())
        let (begin, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
        for count in 0..<pace.count(2000, quick: 500) {
            let number = count * 7 % Self.count
            let write = Write(path: try path(number), operation: .set(fields(number, count: count)))
            let addressed: ArraySlice<DocumentListener> =
                switch audience {
                case .one, .all: listeners[...]
                case .ofDocuments, .ofQueries: listeners[number...number]
                }
            let start = ContinuousClock.now
            async let lastEvent = Self.events(of: addressed)
            _ = try await store.commit([write])
            answered.add(latency: ContinuousClock.now - start)
            notified.add(latency: try await lastEvent - start)
        }
        notified.elapsed = (ContinuousClock.now - begin).seconds
        notified.cpu = OwnProcess.cpuSeconds() - cpu
        return (notified, answered)
    }

    /// Waits for the next event of each listener, and returns when the last one arrived.
    private static func events(of listeners: ArraySlice<DocumentListener>) async throws -> ContinuousClock.Instant {
        try await withThrowingTaskGroup(of: ContinuousClock.Instant.self) { group in
            for listener in listeners { group.addTask { try await next(of: listener) } }
            return try await group.reduce(.now) { max($0, $1) }
        }
    }

    private static func next(of listener: DocumentListener) async throws -> ContinuousClock.Instant {
        switch try await listener.next() {
        case .initial, .changes, .count: return .now
        case .startOver(let reason): throw LoadError("a listener has to start over: \(reason)")
        case nil: throw LoadError("a listener has ended")
        }
    }

    private func target(_ audience: Audience, _ number: Int) throws -> ListenTarget {
        if audience == .ofDocuments { return .documents([try path(number)]) }
        var query = Query(collectionID: Self.collection)
        if audience == .ofQueries {
            query.filter = .field(try FieldPath("number"), .equal, .integer(Int64(number)))
        }
        return .query(query)
    }

    private func path(_ number: Int) throws -> DocumentPath { try DocumentPath("\(Self.collection)/room-\(number)") }

    private func fields(_ number: Int, count: Int) -> [String: Value] {
        [
            "number": .integer(Int64(number)), "name": .string("Room \(number)"),
            "visitors": .integer(Int64(count)),
        ]
    }
}
