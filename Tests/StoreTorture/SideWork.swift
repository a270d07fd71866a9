import StorageEngine
import DocumentModel
import DocumentStore
import TestSupport

/// What goes on in a store beside its clients.
enum SideWork: String, CaseIterable {
    /// Indexes come and go, and are built and dropped.
    case indexes
    /// The store is copied to files again and again.
    case backups
    /// Free pages go back to the disk.
    case compaction

    /// Goes on until the process ends.
    func run(on store: DocumentStore, in directory: String, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        for number in 0... {
            switch self {
            case .indexes:
                try await store.configureIndexes(Self.configuration(&random))
                if random.once(in: 3) { try await store.indexesAreDone() }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &random)))
            case .backups:
                try await embedded("backup", store) { engine, _ in
                    _ = try engine.copy(to: directory + "/backup\(number % 3).db", replacing: true) { _ in }
                }
            case .compaction:
                let extent: CompactionExtent = random.once(in: 3) ? .whole : .steps
                try await embedded("compaction", store) { engine, cancellation in
                    _ = try engine.compact(extent, until: cancellation) { _ in }
                }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    private func embedded(
        _ name: String, _ store: DocumentStore,
        _ body: @escaping @Sendable (any EmbeddedEngine, BlockingWork.Cancellation) throws -> Void
    ) async throws {
        try await BlockingWork.run(name) { cancellation in
            if let engine = store.embeddedEngine { try body(engine, cancellation) }
        }
    }

    /// Indexes that the clients' queries can use.
    private static func configuration(_ random: inout SeededGenerator) -> IndexConfiguration {
        let group = Bookings.field("group")
        let all = [
            IndexDefinition(
                collectionID: "accounts",
                fields: [.init(group, .ascending), .init(Bookings.field("balance"), .descending)]),
            IndexDefinition(
                collectionID: "people", fields: [.init(Bookings.field("on"), .ascending), .init(group, .ascending)]),
            IndexDefinition(
                collectionID: "bookings", scope: .collectionGroup, fields: [.init(Bookings.field("hour"), .ascending)]),
            IndexDefinition(
                collectionID: "counters",
                fields: [.init(Bookings.field("by"), .contains), .init(Bookings.field("n"), .descending)]),
            IndexDefinition(
                collectionID: HistoryRecord.collection, scope: .collectionGroup,
                fields: [.init(Bookings.field("body"), .descending)]),
        ]
        let exemptions = ["group", "hour", "balance"].map { name in
            FieldExemption(
                collectionID: name == "hour" ? "bookings" : "accounts", field: Bookings.field(name), isOrdered: false,
                hasElements: false)
        }
        return IndexConfiguration(
            indexes: all.filter { _ in random.once(in: 2) }, exemptions: exemptions.filter { _ in random.once(in: 3) })
    }
}
