import DocumentModel
import StorageEngine

extension StorageWriter {
    func putRows(of delivery: Delivery) throws {
        switch delivery.state {
        case .dead: try put(.deliveries, OutboxKey.dead(delivery.id), delivery.row)
        case .waiting: try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
        case .pending(let due):
            try put(.deliveries, OutboxKey.pending(delivery.id), delivery.row)
            try put(.deliveries, OutboxKey.due(due, delivery.id), [])
        }
    }

    /// Doesn't delete its event.
    func deleteRows(of delivery: Delivery) throws {
        switch delivery.state {
        case .dead: try delete(.deliveries, OutboxKey.dead(delivery.id))
        case .waiting: try delete(.deliveries, OutboxKey.pending(delivery.id))
        case .pending(let due):
            try delete(.deliveries, OutboxKey.pending(delivery.id))
            try delete(.deliveries, OutboxKey.due(due, delivery.id))
        }
    }

    /// Whether a delivery is the last one of its event.
    func isLast(_ delivery: Delivery) throws -> Bool {
        // An event that can't be read stays in place for the check to report.
        guard let functions = try storedEvent(delivery.id.event)?.functions else { return false }
        for function in functions where function != delivery.id.function {
            do {
                if try hasDelivery(DeliveryID(event: delivery.id.event, function: function)) { return false }
            } catch let error as StorageError where error.kind == .damaged {
                // It may be there, and the check reports it.
                return false
            }
        }
        return true
    }
}

extension StorageReader {
    /// - Returns: nil if there is none.
    /// - Throws: `DecodingFailure` if it can't be read.
    func delivery(_ id: DeliveryID) throws -> Delivery? {
        let row = try readRow(.deliveries, OutboxKey.pending(id)) ?? readRow(.deliveries, OutboxKey.dead(id))
        guard let row else { return nil }
        return try Delivery(id: id, row: row)
    }

    /// - Returns: nil if there is none, or it can't be read.
    func readableDelivery(_ id: DeliveryID) throws -> Delivery? {
        do { return try delivery(id) } catch is DecodingFailure { return nil }
    }

    func hasDelivery(_ id: DeliveryID) throws -> Bool {
        try get(.deliveries, OutboxKey.pending(id)) != nil || get(.deliveries, OutboxKey.dead(id)) != nil
    }

    /// - Returns: nil if there is none, or it can't be read.
    func storedEvent(_ id: EventID) throws -> (functions: [String], event: [UInt8])? {
        do { return try readRow(.events, OutboxKey.event(id)).map(StoredEvent.decode) } catch is DecodingFailure {
            return nil
        }
    }

    /// - Throws: `DecodingFailure` if the engine finds the row damaged: only this one can't be read.
    private func readRow(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        do { return try get(table, key) } catch let error as StorageError where error.kind == .damaged {
            throw DecodingFailure(error.message)
        }
    }
}
