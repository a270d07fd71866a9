import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import TestSupport
import Testing

/// What a commit writes, as it is made before the writer.
struct ComputedCommitTests {
    private static let path = DocumentPath(unchecked: "c/a")

    /// - Parameter weights: what the document takes in memory before and after.
    private func computed(
        _ before: [String: Value]?, _ after: [String: Value]?, weights: (before: Int, after: Int) = (0, 0)
    ) -> ComputedCommit {
        let time = Timestamp(seconds: 1, nanoseconds: 0)
        func document(_ fields: [String: Value]?) -> Document? {
            fields.map { Document(path: Self.path, fields: $0, createTime: time, updateTime: time) }
        }
        var outcome = WriteOutcome()
        let change = DocumentChange(path: Self.path, before: document(before), after: document(after))
        outcome.add(change, weight: weights.after)
        return ComputedCommit(outcome, [Self.path: StoredState(key: [], bytes: nil, weight: weights.before)])
    }

    /// Rows that were made for other indexes than the writer's are made again.
    @Test func rowsAreThoseOfTheWritersIndexes() {
        var catalog = IndexCatalog()
        var computed = computed(nil, ["n": .integer(1)])
        computed.makeRows(catalog)
        #expect(computed.rows(of: 0, catalog).index.put.count == 1)
        let none = FieldExemption(collectionID: "c", field: nil, isOrdered: false, hasElements: false)
        catalog.set(indexes: [], fields: [IndexCatalog.Fields(collectionID: "c", exemptions: [none])])
        #expect(computed.rows(of: 0, catalog).index.put.isEmpty)
    }

    /// A deleted document has as many entries as a written one. Of one that is updated, most stay.
    @Test(arguments: [(40_000, 40_000), (70_000, 0), (0, 70_000), (70_000, 20_000), (60_000, 0)])
    func rowsOfLargeDocumentsAreMadeByTheWriter(before: Int, after: Int) {
        let fields: [String: Value] = ["n": .integer(1)]
        var computed = computed(fields, after > 0 ? fields : nil, weights: (before, after))
        computed.makeRows(IndexCatalog())
        #expect(computed.hasRows == (max(before, after) < 65_536))
        #expect(computed.rows(of: 0, IndexCatalog()).index.gone.count == (after > 0 ? 0 : 1))
    }

    @Test func onlyEntriesThatDifferChange() {
        let catalog = IndexCatalog()
        let elements = Value.array([.integer(1), .integer(2)])
        let rows = computed(["a": elements, "n": .integer(1)], ["a": elements, "n": .integer(2)]).rows(of: 0, catalog)
        #expect(rows.index.gone.count == 1 && rows.index.put.count == 1)
        #expect(rows.draft != nil)
        let deleted = computed(["a": elements, "n": .integer(1)], nil).rows(of: 0, catalog)
        // The array as a whole, its two elements, and the number.
        #expect(deleted.index.gone.count == 4 && deleted.index.put.isEmpty)
        #expect(deleted.draft == nil)
    }

    /// Waiting commits are bounded by all that they hold: also by the rows that were made for them, without which they may
    /// have room.
    @Test func whatWaitsCountsWithItsRows() async throws {
        var configuration = TestStore.configuration
        configuration.maxHeldBytes = 1000
        try await withStore(configuration: configuration) { test in
            let one: [String: Value] = ["n": .integer(1)]
            var small = computed(nil, one)
            small.makeRows(IndexCatalog())
            let isHeld = small.hold(in: test.store.parts)
            #expect(isHeld && small.hasRows)
            var large = computed(nil, Dictionary(uniqueKeysWithValues: (0..<50).map { ("n\($0)", .integer(1)) }))
            let isHeldWithoutRows = large.hold(in: test.store.parts)
            #expect(isHeldWithoutRows)
            large.makeRows(IndexCatalog())
            #expect(large.hasRows)
            let isHeldWithRows = large.hold(in: test.store.parts)
            #expect(isHeldWithRows && !large.hasRows)
            #expect(large.rows(of: 0, IndexCatalog()).index.put.count == 50)
            // What was refused isn't released again: the first one still counts.
            let hasAllRoom = test.store.parts.hold(1000)
            #expect(!hasAllRoom && small.hasRows)
        }
    }
}
