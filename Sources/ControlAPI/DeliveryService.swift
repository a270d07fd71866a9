import ControlProtocol
package import DocumentModel
package import DocumentStore

/// What an operator sees of the outbox and does to it, a bounded piece at a time: whoever asks goes on where the answer
/// says, so that any number of deliveries neither holds the store up nor needs memory.
package struct DeliveryService: Sendable {
    /// Deliveries that one request looks at, and that are read at once.
    private static let bound = 5000
    private static let page = 500

    private let store: DocumentStore
    private let database: DatabaseID
    private let isRunning: @Sendable (DeliveryID) -> Bool
    private let now: @Sendable () -> Timestamp

    /// - Parameter isRunning: whether a handler is at a delivery.
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
    ///   - cursor: where the answer before says to go on.
    ///   - limit: how many at most; fewer come where the request has looked at enough.
    func list(
        _ filter: DeliveryFilter, after cursor: String?, limit: Int
    ) async throws(DocumentError) -> DeliveryListing {
        let (found, next) = try await walk(filter, after: cursor, limit: limit) { _, _ in true }
        return DeliveryListing(deliveries: found.map { report($0.delivery, $0.state) }, next: next)
    }

    /// - Throws: `notFound` where there is none.
    func show(_ id: DeliveryID) async throws(DocumentError) -> DeliveryDetails {
        guard let stored = try await store.delivery(id) else { throw missing(id) }
        do {
            let event = try Event(decoding: stored.event)
            return DeliveryDetails(
                delivery: report(stored.delivery, state(of: stored.delivery)), event: EventReport(event, of: database))
        } catch {
            throw DocumentError(.dataLoss, "the event \(id.event) can't be read: \(error.reason); see \"data check\"")
        }
    }

    /// Something that is done to deliveries by hand.
    enum Act: String, Sendable, CaseIterable {
        /// Nothing but counting those that `drop` would drop.
        case count
        case retry
        case drop
    }

    /// Does something to those that the filter means and that nobody works on.
    ///
    /// What has never been tried is not retried: it waits for its time, or for its turn.
    func perform(
        _ act: Act, _ filter: DeliveryFilter, after cursor: String?
    ) async throws(DocumentError) -> DeliveryChange {
        let (found, next) = try await walk(filter, after: cursor, limit: Self.bound) { delivery, state in
            switch state {
            case .running: false
            case .dead: true
            case .pending, .waiting: act != .retry || (state == .pending && delivery.tries > 0)
            }
        }
        let ids = found.map(\.delivery.id)
        let count =
            switch act {
            case .count: ids.count
            case .retry: try await store.retry(ids)
            case .drop: try await store.drop(ids)
            }
        return DeliveryChange(count: count, next: next)
    }

    /// Does something to one delivery.
    ///
    /// - Throws: `notFound` where there is none, `failedPrecondition` where a handler is at it.
    func perform(_ act: Act, _ id: DeliveryID) async throws(DocumentError) -> DeliveryChange {
        guard let stored = try await store.delivery(id) else { throw missing(id) }
        if act == .retry, case .waiting = stored.delivery.state {
            throw DocumentError(
                .failedPrecondition,
                "\(id.event) waits for an earlier change of its document, which \(id.function) is told first")
        }
        let count =
            switch act {
            case .count: 1
            case .retry: try await store.retry([id])
            case .drop: try await store.drop([id])
            }
        guard count == 1 else {
            throw DocumentError(
                .failedPrecondition, "a handler is at \(id.event) of \(id.function) now; try again once it has ended")
        }
        return DeliveryChange(count: 1)
    }

    /// How much each function has in the outbox.
    func counts() async throws(DocumentError) -> [DocumentStore.DeliveryCounts] { try await store.deliveryCounts() }

    // MARK: Walking

    private typealias Found = (delivery: Delivery, state: DeliveryFilter.State)

    private func walk(
        _ filter: DeliveryFilter, after text: String?, limit: Int,
        where isWanted: (Delivery, DeliveryFilter.State) -> Bool
    ) async throws(DocumentError) -> (found: [Found], next: String?) {
        var cursor = DeliveryCursor(areDead: !filter.includesOpen)
        if let text { cursor = try DeliveryCursor(text) }
        let youngest = filter.olderThan.map { now().microseconds - Int64($0) * 1_000_000 } ?? .max
        var found: [Found] = []
        var looked = 0
        while looked < Self.bound {
            let page = try await store.deliveries(
                areDead: cursor.areDead, function: filter.function, after: cursor.last, limit: Self.page)
            var isTooYoung = false
            for delivery in page {
                looked += 1
                if delivery.created.microseconds > youngest {
                    // They come in the order of their events: all that follow of this function are younger still.
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
            age: Int(max(0, (now().microseconds - delivery.created.microseconds) / 1_000_000)),
            due: delivery.due?.rfc3339, died: died?.rfc3339, tries: delivery.tries, executions: delivery.executions,
            firstTry: delivery.firstTry?.rfc3339, lastError: delivery.lastError, lastStatus: delivery.lastStatus,
            taskName: delivery.taskName)
    }

    private func missing(_ id: DeliveryID) -> DocumentError {
        DocumentError(.notFound, "\(id.function) has no delivery of the event \(id.event), or has it no longer")
    }
}
