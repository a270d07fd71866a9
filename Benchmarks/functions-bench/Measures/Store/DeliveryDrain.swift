import CommitPipeline
import DocumentModel
import DocumentStore

/// Ends all due deliveries of a function, page by page, without running handlers.
struct DeliveryDrain {
    private static let pageSize = 1000

    let store: DocumentStore
    let function: String
    /// How many deliveries are in flight at a time.
    let atWork: Int

    /// - Returns: the time that each delivery took from its lease until its end was durable.
    func run() async throws -> LoadReport {
        var report = LoadReport()
        try await withThrowingTaskGroup(of: Duration.self) { group in
            while true {
                let page = try await store.outbox.dueDeliveries(
                    of: function, at: .wallClock(), except: [], limit: Self.pageSize, maxBytes: 8 << 20)
                guard !page.deliveries.isEmpty else { break }
                var working = 0
                for stored in page.deliveries {
                    while working >= atWork, let duration = try await group.next() {
                        working -= 1
                        report.add(latency: duration)
                    }
                    guard let lease = store.outbox.lease(stored.delivery.id) else { continue }
                    working += 1
                    group.addTask { try await end(lease) }
                }
                // The next page must not contain deliveries that are still in flight.
                while let duration = try await group.next() { report.add(latency: duration) }
            }
        }
        return report
    }

    private func end(_ lease: DeliveryLease) async throws -> Duration {
        let start = ContinuousClock.now
        let count = try await withCheckedContinuation { continuation in
            store.outbox.end(lease, .succeeded) { continuation.resume(returning: $0) }
        }.get()
        guard count == 1 else { throw LoadError("a due delivery had already ended") }
        return ContinuousClock.now - start
    }
}
