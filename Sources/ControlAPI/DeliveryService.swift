import CommitPipeline
import ControlProtocol
package import DocumentModel
package import DocumentStore

/// Lists, retries and drops deliveries for an operator, a bounded number per request. A response has a cursor for the
/// next request, so that a large outbox neither blocks the store nor fills the memory.
package struct DeliveryService: Sendable {
    /// The number of deliveries that one request scans.
    private static let maxScanned = 5000
    /// The number of deliveries per read of the store.
    private static let page = 500

    private let store: DocumentStore
    private let database: DatabaseID
    private let isRunning: @Sendable (DeliveryID) -> Bool
    private let now: @Sendable () -> Timestamp

    /// - Parameter isRunning: whether a handler of a delivery is running.
    package init(
        _ store: DocumentStore, database: DatabaseID, now: @escaping @Sendable () -> Timestamp,
        isRunning: @escaping @Sendable (DeliveryID) -> Bool = { _ in false }
    ) {
        self.store = store
        self.database = database
        self.now = now
        self.isRunning = isRunning
    }

    /// - Parameters:
    ///   - cursor: the `next` of the previous page; nil for the first page.
    ///   - limit: the maximum number of deliveries; fewer are returned if the request has scanned enough.
    func list(
        _ filter: DeliveryFilter, after cursor: String?, limit: Int
    ) async throws(DocumentError) -> DeliveryListing {
        let (found, next) = try await scan(filter, after: cursor, limit: limit) { _, _ in true }
        return DeliveryListing(deliveries: found.map { report($0.delivery, $0.state) }, next: next)
    }

    /// - Throws: `notFound` if it doesn't exist.
    func show(_ id: DeliveryID) async throws(DocumentError) -> DeliveryDetails {
        guard let stored = try await store.outbox.delivery(id) else { throw missing(id) }
        do {
            let event = try Event(decoding: stored.event)
            return DeliveryDetails(
                delivery: report(stored.delivery, state(of: stored.delivery)), event: EventReport(event, of: database))
        } catch {
            throw DocumentError(
                .dataLoss,
                "the event \(id.event) can\'t be decoded: \(error.reason); run \"data check\"")
        }
    }

    /// A manual operation on deliveries. All but reading need a running host.
    package enum Action: String, Sendable, CaseIterable {
        /// Counts the deliveries that `drop` would delete.
        case count
        case retry
        case drop
    }

    /// Applies an action to the deliveries that match the filter and whose handler isn't running.
    ///
    /// `retry` skips deliveries without a failed attempt: they wait for their due time or for an earlier delivery.
    func perform(
        _ action: Action, _ filter: DeliveryFilter, after cursor: String?
    ) async throws(DocumentError) -> DeliveryChange {
        let (found, next) = try await scan(filter, after: cursor, limit: Self.maxScanned) { delivery, state in
            switch state {
            case .running: false
            case .dead: true
            case .pending, .waiting: action != .retry || (state == .pending && delivery.failedAttempts > 0)
            }
        }
        let ids = found.map(\.delivery.id)
        let count =
            switch action {
            case .count: ids.count
            case .retry: try await store.outbox.requeue(ids)
            // Another operator may have requeued some since they were read.
            case .drop: try await store.outbox.drop(unchanged: found.map(\.delivery))
            }
        return DeliveryChange(count: count, next: next)
    }

    /// Applies an action to one delivery.
    ///
    /// - Throws: `notFound` if it doesn't exist, `failedPrecondition` if its handler is running.
    func perform(_ action: Action, _ id: DeliveryID) async throws(DocumentError) -> DeliveryChange {
        guard let stored = try await store.outbox.delivery(id) else { throw missing(id) }
        if action == .retry, case .waiting = stored.delivery.state {
            throw DocumentError(
                .failedPrecondition,
                "\(id.event) waits for an earlier change of its document, which is delivered to \(id.function) first")
        }
        let count =
            switch action {
            case .count: 1
            case .retry: try await store.outbox.requeue([id])
            case .drop: try await store.outbox.drop([id])
            }
        guard count == 1 else {
            throw DocumentError(
                .failedPrecondition, "\(id.function) is handling \(id.event) now; retry when it has ended")
        }
        return DeliveryChange(count: 1)
    }

    /// The number of each function's deliveries in the outbox.
    func counts() async throws(DocumentError) -> [DeliveryCounts] { try await store.outbox.counts() }

    // MARK: Scanning

    private typealias Found = (delivery: Delivery, state: DeliveryFilter.State)

    private func scan(
        _ filter: DeliveryFilter, after text: String?, limit: Int,
        where isWanted: (Delivery, DeliveryFilter.State) -> Bool
    ) async throws(DocumentError) -> (found: [Found], next: String?) {
        var cursor = DeliveryCursor(areDead: !filter.includesOpen)
        if let text { cursor = try DeliveryCursor(text) }
        let youngest = filter.olderThan.map { now().microseconds - Int64($0) * 1_000_000 } ?? .max
        var found: [Found] = []
        var scanned = 0
        while scanned < Self.maxScanned {
            let page = try await store.outbox.deliveries(
                areDead: cursor.areDead, function: filter.function, after: cursor.last, limit: Self.page)
            var isTooYoung = false
            for delivery in page {
                scanned += 1
                if delivery.created.microseconds > youngest {
                    // Deliveries are ordered by event: all further ones of this function are younger.
                    let end = EventID(version: .max, ordinal: .max)
                    cursor.last = DeliveryID(event: end, function: delivery.id.function)
                    isTooYoung = true
                    break
                }
                cursor.last = delivery.id
                let state = state(of: delivery)
                guard filter.includes(state), isWanted(delivery, state) else { continue }
                found.append((delivery, state))
                if found.count == limit { return (found, cursor.text) }
            }
            if isTooYoung ? filter.function == nil : page.count == Self.page { continue }
            guard !cursor.areDead, filter.includes(.dead) else { return (found, nil) }
            cursor = DeliveryCursor(areDead: true)
        }
        return (found, cursor.text)
    }

    private func state(of delivery: Delivery) -> DeliveryFilter.State {
        switch delivery.state {
        case .dead: .dead
        case .waiting: .waiting
        case .pending: isRunning(delivery.id) ? .running : .pending
        }
    }

    private func report(_ delivery: Delivery, _ state: DeliveryFilter.State) -> DeliveryReport {
        var died: Timestamp?
        if case .dead(let time) = delivery.state { died = time }
        return DeliveryReport(
            function: delivery.id.function, event: "\(delivery.id.event)", state: state.rawValue,
            created: delivery.created.rfc3339,
            age: Int(max(0, now().seconds(since: delivery.created))),
            due: delivery.due?.rfc3339, died: died?.rfc3339, tries: delivery.failedAttempts,
            executions: delivery.executions,
            firstTry: delivery.firstAttempt?.rfc3339, lastError: delivery.lastError, lastStatus: delivery.lastStatus,
            taskName: delivery.taskName)
    }

    private func missing(_ id: DeliveryID) -> DocumentError {
        DocumentError(.notFound, "\(id.function) has no delivery of the event \(id.event), or it has already ended")
    }
}
