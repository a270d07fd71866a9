import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Synchronization
import Testing

struct TransactionScaleTests {
    private let configuration = TestStore.configuration

    private func change(_ path: String, _ version: Int64) throws -> RecentChanges.Entry {
        let time = Timestamp(microseconds: version)
        let path = try DocumentPath(path)
        let document = Document(path: path, fields: [:], createTime: time, updateTime: time)
        return RecentChanges.Entry(
            DocumentChange(path: path, before: nil, after: document), version: version, storedBytes: 10, weight: 0)
    }

    @Test func twentyThousandAreOpenAndEndWithTheirOwners() throws {
        var table = TransactionTable(version: 0, configuration: configuration)
        var byOwner: [UInt64: [TransactionID]] = [:]
        for n in 0..<20_000 {
            let owner = UInt64(n % 200)
            let id = try table.begin(isReadOnly: false, context: OperationContext(owner: owner), at: .zero)
            let reads = ReadSet(documents: [try DocumentPath("a/\(n)")])
            #expect(try table.read(id, owner: owner, reads, snapshot: 1, at: .zero) == .current)
            byOwner[owner, default: []].append(id)
        }
        #expect(table.openCount == 20_000)
        let context = OperationContext(owner: 1)
        #expect(throws: DocumentError.self) { try table.begin(isReadOnly: false, context: context, at: .zero) }
        for owner in byOwner.keys.sorted().dropLast() {
            #expect(Set(table.release(owner: owner)) == Set(byOwner[owner] ?? []))
        }
        #expect(table.openCount == 100)
        table.expire(at: .seconds(60))
        #expect(table.openCount == 100)
        table.expire(at: .seconds(62))
        #expect(table.openCount == 0)
        #expect(table.release(owner: 199).isEmpty)
    }

    @Test func aTransactionThatIsUsedLivesOn() throws {
        var table = TransactionTable(version: 0, configuration: configuration)
        let context = OperationContext()
        let used = try table.begin(isReadOnly: true, context: context, at: .zero)
        _ = try table.begin(isReadOnly: true, context: context, at: .zero)
        for second in stride(from: 50, through: 250, by: 50) {
            table.expire(at: .seconds(second))
            #expect(try table.read(used, owner: nil, ReadSet(), snapshot: 1, at: .seconds(second)) == .current)
        }
        #expect(table.openCount == 1)
        #expect(table.oldestRead == 1)
        table.expire(at: .seconds(272))
        #expect(table.openCount == 0)
        #expect(table.oldestRead == nil)
    }

    @Test func oneTransactionMayNotReadWithoutEnd() throws {
        var configuration = configuration
        configuration.maxTransactionReads = 100
        configuration.maxNotedReads = 150
        var table = TransactionTable(version: 0, configuration: configuration)
        let ids = try (0..<2).map { _ in try table.begin(isReadOnly: false, context: OperationContext(), at: .zero) }
        func read(_ id: TransactionID, _ n: Int) throws(DocumentError) {
            _ = try table.read(
                id, owner: nil, ReadSet(documents: [try DocumentPath("a/\(n)")]), snapshot: 1, at: .zero)
        }
        for n in 0..<100 { try read(ids[0], n) }
        #expect(
            throws: DocumentError(.resourceExhausted, "a transaction may read 100 documents and queries, the limit")
        ) {
            try read(ids[0], 100)
        }
        for n in 0..<50 { try read(ids[1], n) }
        #expect(throws: DocumentError.self) { try read(ids[1], 50) }
        _ = try table.end(ids[0], owner: nil, at: .zero)
        try read(ids[1], 50)
    }

    @Test func onlyChangesOfItsPlaceAreHeldAgainstAQuery() throws {
        var changes = RecentChanges(floor: 0, maxCount: 1000, maxBytes: .max)
        for version in 1...500 as ClosedRange<Int64> {
            changes.append([try change("a/\(version)", version), try change("b/x/c/\(version)", version)])
        }
        let collection = try NormalizedQuery(Query(parent: DocumentPath("b/x"), collectionID: "c"))
        let group = try NormalizedQuery(Query(collectionID: "c", allDescendants: true))
        let other = try NormalizedQuery(Query(collectionID: "c"))
        #expect(changes.hasChanged(collection, after: 499) == true)
        #expect(changes.hasChanged(collection, after: 500) == false)
        #expect(changes.hasChanged(group, after: 499) == true)
        #expect(changes.hasChanged(other, after: 0) == false)
        changes.append([try change("a/501", 501)])
        #expect(changes.hasChanged(collection, after: 500) == false)
        #expect(changes.changed(among: [try DocumentPath("a/501")], after: 500) != nil)
        #expect(changes.changed(among: [try DocumentPath("a/501")], after: 501) == nil)
        let many = Set(try (0..<50).map { try DocumentPath("a/\($0)") })
        #expect(changes.changed(among: many, after: 500) == nil)
        #expect(changes.changed(among: many.union([try DocumentPath("a/501")]), after: 500)?.id == "501")
    }

    @Test func whatWasNotKeptAndWhatIsTooOldIsForgotten() throws {
        var changes = RecentChanges(floor: 0, maxCount: 4, maxBytes: .max)
        let query = try NormalizedQuery(Query(collectionID: "a"))
        let path = try DocumentPath("a/x")
        for version in 1...6 as ClosedRange<Int64> { changes.append([try change("a/x", version)]) }
        #expect(changes.floor == 2)
        changes.rollBack(to: 4)
        #expect(changes.hasChanged(query, after: 3) == true)
        #expect(changes.hasChanged(query, after: 4) == false)
        var all = Query(collectionID: "a")
        all.allDescendants = true
        let group = try NormalizedQuery(all)
        #expect(changes.hasChanged(group, after: 3) == true)
        #expect(changes.hasChanged(group, after: 4) == false)
        #expect(changes.changed(among: [path], after: 3) == path)
        #expect(changes.changed(among: [path], after: 4) == nil)
        changes.append([try change("a/y", 7)])
        #expect(changes.changed(among: [path], after: 4) == nil)
        #expect(changes.hasChanged(query, after: 4) == true)
        #expect(changes.hasChanged(group, after: 6) == true)
    }

    @Test func ticketsGoByAgeByOwnerAndByUse() {
        var box = RetryTickets()
        func ticket(_ owner: UInt64?, _ second: Int) -> RetryTicket {
            RetryTicket(transaction: id(second), reads: ReadSet(), owner: owner, issued: .seconds(second))
        }
        func id(_ n: Int) -> TransactionID { TransactionID(rawValue: UInt64(n)) }
        for n in 1...5 { box.issue(ticket(n % 2 == 0 ? 7 : nil, n), limit: 4) }
        #expect(box.take(id(1), owner: nil) == nil)
        #expect(box.take(id(2), owner: nil) == nil)
        #expect(box.take(id(2), owner: 7) != nil)
        #expect(box.take(id(2), owner: 7) == nil)
        #expect(box.release(owner: 7) == [id(4)])
        box.expire(issuedBefore: .seconds(5))
        #expect(box.take(id(3), owner: nil) == nil)
        #expect(box.take(id(5), owner: nil) != nil)
    }

    /// All open at once in a store, reading and committing, without a trace left.
    @Test func aStoreHoldsThousandsOpen() async throws {
        try await withStore { test in
            try await test.set("a/b", ["n": .integer(0)])
            var ids: [TransactionID] = []
            for n in 0..<5000 {
                let id = try await test.begin(n % 2 == 0 ? .readOnly(at: nil) : .readWrite(retrying: nil))
                _ = try await test.get("a/b", in: id)
                ids.append(id)
            }
            try await test.set("a/b", ["n": .integer(1)])
            for (n, id) in ids.enumerated() where n % 2 == 0 {
                #expect(try await test.get("a/b", in: id)?.fields["n"] == .integer(0))
                try await test.commit([], in: id)
            }
            for (n, id) in ids.enumerated() where n % 2 == 1 {
                #expect(await refusal { try await test.set("x/\(n)", [:], in: id) }?.code == .aborted)
            }
            #expect(test.store.parts.transactions.withLock { $0.openCount } == 0)
        }
    }
}

extension RecentChanges {
    fileprivate func hasChanged(_ query: NormalizedQuery, after version: Int64) -> Bool? {
        var steps = Int.max
        return hasChanged(query, after: version, within: &steps)
    }
}
