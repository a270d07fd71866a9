import CommitPipeline
package import DocumentModel
package import DocumentStore

/// The dispatcher's durable state.
package struct EventRecords: Sendable {
    /// The time since when each function is paused; ``everything`` stands for all of them.
    package var pauses: [String: Timestamp] = [:]
    /// The functions' budget use.
    package var budgets: [String: [UInt8]] = [:]

    /// A name that no function can have.
    package static let everything = "*"
    private static let pausePrefix = "pause/"
    private static let budgetPrefix = "budget/"

    package init() {}

    /// - Throws: `DocumentError` if the store can't be read.
    package static func load(_ store: DocumentStore) async throws(DocumentError) -> Self {
        var records = EventRecords()
        records.pauses = try await pauses(store)
        for (name, value) in try await store.outbox.records(startingWith: budgetPrefix) {
            records.budgets[String(name.dropFirst(budgetPrefix.count))] = value
        }
        return records
    }

    /// - Throws: `DocumentError` if the store can't be read.
    package static func pauses(_ store: DocumentStore) async throws(DocumentError) -> [String: Timestamp] {
        var pauses: [String: Timestamp] = [:]
        for (name, value) in try await store.outbox.records(startingWith: pausePrefix) {
            var reader = ByteReader(value)
            pauses[String(name.dropFirst(pausePrefix.count))] =
                (try? reader.signed()).map { Timestamp(microseconds: $0) } ?? Timestamp(microseconds: 0)
        }
        return pauses
    }

    /// Whether a function is paused, by name or together with all.
    package static func isPaused(_ name: String, _ pauses: [String: Timestamp]) -> Bool {
        pauses[name] != nil || pauses[everything] != nil
    }

    package static func pause(of function: String, since time: Timestamp?) -> (name: String, value: [UInt8]?) {
        guard let time else { return (pausePrefix + function, nil) }
        var writer = ByteWriter(reservingCapacity: 10)
        writer.write(signed: time.microseconds)
        return (pausePrefix + function, writer.bytes)
    }

    package static func budget(of function: String, _ record: [UInt8]) -> (name: String, value: [UInt8]?) {
        (budgetPrefix + function, record)
    }
}
