import DocumentModel
@testable import DocumentStore
import Testing

/// What one transaction, one client and all together may cost the others.
struct TransactionBoundTests {
    private struct AllowAll: AccessPolicy {
        func check(_ access: Access, in view: AccessView) {}
    }

    private var configuration = TestStore.configuration

    private func client(_ owner: UInt64) -> OperationContext { OperationContext(owner: owner, policy: AllowAll()) }

    private func reads(_ paths: String...) throws -> ReadSet {
        ReadSet(documents: Set(try paths.map { try DocumentPath($0) }))
    }

    private func reads(of query: Query) throws -> ReadSet { ReadSet(queries: [query: try NormalizedQuery(query)]) }

    private func change(_ path: String, _ version: Int64) throws -> RecentChanges.Entry {
        RecentChanges.Entry(
            DocumentChange(path: try DocumentPath(path), before: nil, after: nil), version: version, storedBytes: 10,
            weight: 0)
    }

    @Test func aTransactionRunsSoManyDifferentQueries() throws {
        var configuration = configuration
        configuration.maxTransactionQueries = 2
        var table = TransactionTable(version: 0, configuration: configuration)
        let id = try table.begin(isReadOnly: false, context: OperationContext(), at: .zero)
        for name in ["a", "b", "a", "b", "a"] {
            _ = try table.read(id, owner: nil, try reads(of: Query(collectionID: name)), snapshot: 1, at: .zero)
        }
        #expect(
            throws: DocumentError(.resourceExhausted, "a transaction may run 2 different queries, the limit")
        ) {
            try table.read(id, owner: nil, try reads(of: Query(collectionID: "c")), snapshot: 1, at: .zero)
        }
    }

    @Test func whatCantBeComparedInTimeIsAborted() throws {
        var configuration = configuration
        configuration.maxValidationSteps = 20
        var table = TransactionTable(version: 0, configuration: configuration)
        let id = try table.begin(isReadOnly: false, context: OperationContext(), at: .zero)
        var query = Query(collectionID: "a")
        query.filter = .field(try FieldPath("n"), .in, .array([.integer(1), .integer(2)]))
        _ = try table.read(id, owner: nil, try reads(of: query), snapshot: 1, at: .zero)
        let transaction = try table.end(id, owner: nil, at: .zero)
        // Elsewhere it costs nothing.
        for version in 2...50 as ClosedRange<Int64> { table.applied([try change("b/\(version)", version)]) }
        for version in 51...60 as ClosedRange<Int64> { table.applied([try change("a/\(version)", version)]) }
        #expect(table.conflict(of: transaction) == nil)
        table.applied([try change("a/last", 61)])
        #expect(table.conflict(of: transaction)?.code == .aborted)
    }

    /// A read that is known is answered on its caller's thread, which compares few changes with the queries before it.
    @Test func whatIsComparedOnTheCallersThreadIsBounded() throws {
        var table = TransactionTable(version: 0, configuration: configuration)
        let ids = try (0..<3).map { _ in
            try table.begin(isReadOnly: false, context: OperationContext(), at: .zero)
        }
        for name in ["a", "b"] {
            _ = try table.read(ids[0], owner: nil, try reads(of: Query(collectionID: name)), snapshot: 1, at: .zero)
        }
        _ = try table.read(ids[1], owner: nil, try reads("a/d", "b/d"), snapshot: 1, at: .zero)
        // Elsewhere they cost nothing.
        for version in 2...1000 as ClosedRange<Int64> { table.applied([try change("c/\(version)", version)]) }
        for version in 1001...1256 as ClosedRange<Int64> {
            table.applied([try change(version % 2 == 0 ? "a/d" : "b/d", version)])
        }
        #expect(table.isSeenSoon(ids[0], at: 1256))
        table.applied([try change("a/d", 1257)])
        #expect(!table.isSeenSoon(ids[0], at: 1257))
        // It has seen that state itself.
        #expect(table.isSeenSoon(ids[0], at: 1))
        // Without queries, or before its first read, it compares nothing.
        #expect(table.isSeenSoon(ids[1], at: 1257))
        #expect(table.isSeenSoon(ids[2], at: 1257))
    }

    /// What a condition compares with, or must look at, may be much larger than others.
    @Test(arguments: [
        (Query.Operator.equal, Value.integer(1), true), (.equal, .string(String(repeating: "x", count: 1000)), false),
        (.arrayContains, .integer(1), false), (.lessThan, .map([:]), false), (.equal, .map([:]), true),
    ])
    func largeComparisonsAreOfManySteps(comparison: Query.Operator, operand: Value, isShort: Bool) throws {
        var configuration = configuration
        configuration.maxValidationSteps = 50
        var table = TransactionTable(version: 0, configuration: configuration)
        let id = try table.begin(isReadOnly: false, context: OperationContext(), at: .zero)
        var query = Query(collectionID: "a")
        query.filter = .field(try FieldPath("n"), comparison, operand)
        _ = try table.read(id, owner: nil, try reads(of: query), snapshot: 1, at: .zero)
        let large = DocumentChange(path: try DocumentPath("a/d"), before: nil, after: nil)
        table.applied([RecentChanges.Entry(large, version: 2, storedBytes: 10_000, weight: 0)])
        let conflict = table.conflict(of: try table.end(id, owner: nil, at: .zero))
        #expect(conflict?.code == (isShort ? nil : .aborted))
    }

    @Test func oneClientDoesNotTakeAllReads() throws {
        var configuration = configuration
        configuration.maxNotedReadsPerClient = 10
        var table = TransactionTable(version: 0, configuration: configuration)
        let ids = try (0..<2).map { _ in try table.begin(isReadOnly: false, context: client(7), at: .zero) }
        for n in 0..<5 { _ = try table.read(ids[0], owner: 7, try reads("a/\(n)"), snapshot: 1, at: .zero) }
        // A long name counts as several.
        let long = String(repeating: "x", count: 128 * 4)
        _ = try table.read(ids[1], owner: 7, try reads("a/" + long), snapshot: 1, at: .zero)
        let refused = #expect(throws: DocumentError.self) {
            try table.read(ids[1], owner: 7, try reads("a/b"), snapshot: 1, at: .zero)
        }
        #expect(refused?.code == .resourceExhausted)
        #expect(refused?.message.contains("of a client may have read 10") == true)
        // Others go on, and functions are bounded by the whole alone.
        let other = try table.begin(isReadOnly: false, context: client(8), at: .zero)
        _ = try table.read(other, owner: 8, try reads("a/b"), snapshot: 1, at: .zero)
        let function = try table.begin(isReadOnly: false, context: OperationContext(owner: 7), at: .zero)
        for n in 0..<20 { _ = try table.read(function, owner: 7, try reads("a/\(n)"), snapshot: 1, at: .zero) }
        _ = try table.end(ids[0], owner: 7, at: .zero)
        _ = try table.read(ids[1], owner: 7, try reads("a/b"), snapshot: 1, at: .zero)
    }

    /// A query is held until its transaction ends, with all that it selects or compares with and with each of its
    /// conjunctions.
    @Test func aLargeQueryCountsAsManyReads() throws {
        var configuration = configuration
        configuration.maxNotedReadsPerClient = 100
        var table = TransactionTable(version: 0, configuration: configuration)
        let id = try table.begin(isReadOnly: false, context: client(7), at: .zero)
        _ = try table.read(id, owner: 7, try reads(of: Query(collectionID: "a")), snapshot: 1, at: .zero)

        var (selecting, comparing, divided) = (
            Query(collectionID: "a"), Query(collectionID: "a"), Query(collectionID: "a")
        )
        selecting.projection = try (0..<200).map { try FieldPath("f\($0)") }
        let nulls = Value.array(Array(repeating: .null, count: 1000))
        comparing.filter = .field(try FieldPath("f"), .equal, nulls)
        let equal = try (0..<50).map { Query.Filter.field(try FieldPath("f\($0)"), .equal, .integer(1)) }
        divided.filter = .and(equal + [.field(try FieldPath("n"), .in, .array((0..<30).map { .integer($0) }))])
        for query in [selecting, comparing, divided] {
            let refused = #expect(throws: DocumentError.self) {
                try table.read(id, owner: 7, try reads(of: query), snapshot: 1, at: .zero)
            }
            #expect(refused?.code == .resourceExhausted)
        }
    }

    @Test func whatIsOverMakesRoomBeforeAnyoneIsRefused() throws {
        var configuration = configuration
        configuration.maxNotedReads = 4
        configuration.maxTransactionsPerClient = 1
        var table = TransactionTable(version: 0, configuration: configuration)
        let old = try table.begin(isReadOnly: false, context: client(7), at: .zero)
        _ = try table.read(old, owner: 7, try reads("a/1", "a/2"), snapshot: 1, at: .zero)
        #expect(throws: DocumentError.self) { try table.begin(isReadOnly: false, context: client(7), at: .zero) }
        let new = try table.begin(isReadOnly: false, context: OperationContext(), at: .seconds(62))
        _ = try table.read(new, owner: nil, try reads("a/1", "a/2", "a/3"), snapshot: 1, at: .seconds(62))
        #expect(table.openCount == 1)

        _ = try table.begin(isReadOnly: false, context: client(7), at: .seconds(62))
        _ = try table.begin(isReadOnly: false, context: client(7), at: .seconds(124))
        #expect(table.openCount == 1)
    }

    @Test func clientsTogetherHaveHalfOfTheTransactions() throws {
        var configuration = configuration
        configuration.maxTransactions = 2000
        var table = TransactionTable(version: 0, configuration: configuration)
        var refused = 0
        // Each takes as many as it gets.
        for owner in 1...500 as ClosedRange<UInt64> {
            for count in 0...100 {
                do throws(DocumentError) {
                    _ = try table.begin(isReadOnly: false, context: client(owner), at: .zero)
                } catch {
                    #expect(error.code == .resourceExhausted)
                    // While there are any, everyone has one.
                    #expect(count > 0 || table.openCount == 1000)
                    if count > 0 { #expect(count <= 10) }
                    refused += 1
                    break
                }
            }
        }
        #expect(refused == 500)
        #expect(table.openCount == 1000)
        for _ in 0..<1000 { _ = try table.begin(isReadOnly: false, context: OperationContext(owner: 1), at: .zero) }
        #expect(throws: DocumentError.self) {
            try table.begin(isReadOnly: false, context: OperationContext(owner: 1), at: .zero)
        }
        // What ended makes room.
        let now = Duration.seconds(300)
        #expect(try table.begin(isReadOnly: false, context: client(501), at: now).rawValue != 0)
    }

    @Test func clientsTogetherHaveHalfOfTheRecordedReads() throws {
        var configuration = configuration
        configuration.maxNotedReads = 4000
        configuration.maxNotedReadsPerClient = 1000
        var table = TransactionTable(version: 0, configuration: configuration)
        for owner in 1...100 as ClosedRange<UInt64> {
            let id = try table.begin(isReadOnly: false, context: client(owner), at: .zero)
            for n in 0..<200 {
                let read = try reads("a/\(n)")
                do throws(DocumentError) {
                    _ = try table.read(id, owner: owner, read, snapshot: 1, at: .zero)
                } catch {
                    #expect(error.code == .resourceExhausted)
                    break
                }
            }
        }
        let function = try table.begin(isReadOnly: false, context: OperationContext(owner: 1), at: .zero)
        for n in 0..<2000 { _ = try table.read(function, owner: 1, try reads("a/\(n)"), snapshot: 1, at: .zero) }
        #expect(throws: DocumentError.self) {
            try table.read(function, owner: 1, try reads("a/2001"), snapshot: 1, at: .zero)
        }
    }

    @Test func clientsDontPushFunctionsOutOfTheirSecondTry() throws {
        var configuration = configuration
        configuration.maxTickets = 3
        var table = TransactionTable(version: 0, configuration: configuration)
        func abort(_ context: OperationContext) throws -> TransactionID {
            let id = try table.begin(isReadOnly: false, context: context, at: .zero)
            table.issueTicket(for: try table.end(id, owner: context.owner, at: .zero), at: .zero)
            return id
        }
        let function = try abort(OperationContext(owner: 1))
        var last: TransactionID?
        for _ in 0..<10 { last = try abort(client(7)) }
        // What was aborted may be rolled back, but gets no turn.
        let aborted = try #require(last)
        #expect(try table.rollBack(aborted, owner: 7, at: .zero) == nil)
        #expect(table.takeTicket(aborted, owner: 7, at: .zero) == nil)
        #expect(try table.rollBack(function, owner: 1, at: .zero) == nil)
        #expect(table.takeTicket(function, owner: 1, at: .zero) != nil)
    }

    @Test func onlyTheLastEndedTransactionsAreRemembered() throws {
        var configuration = configuration
        configuration.maxTickets = 3
        var table = TransactionTable(version: 0, configuration: configuration)
        var ids: [TransactionID] = []
        for _ in 0..<4 {
            let id = try table.begin(isReadOnly: false, context: client(7), at: .zero)
            _ = try table.end(id, owner: 7, at: .zero)
            ids.append(id)
        }
        for id in ids.dropFirst() { #expect(try table.rollBack(id, owner: 7, at: .zero) == nil) }
        for (id, owner) in [(ids[0], 7), (ids[3], 8)] as [(TransactionID, UInt64)] {
            let error = #expect(throws: DocumentError.self) { try table.rollBack(id, owner: owner, at: .zero) }
            #expect(error?.code == .invalidArgument)
        }
    }

    /// A batch that fails after it pushed out older changes leaves nothing newer than what is durable.
    @Test func theFloorComesBackWithAFailedBatch() throws {
        var changes = RecentChanges(floor: 0, maxCount: 4, maxBytes: .max)
        for version in 1...3 as ClosedRange<Int64> { changes.append([try change("a/\(version)", version)]) }
        for version in 4...9 as ClosedRange<Int64> { changes.append([try change("b/\(version)", version)]) }
        #expect(changes.floor == 5)
        changes.rollBack(to: 3)
        #expect(changes.floor == 3)
        let lost = Set(try (4...9).map { try DocumentPath("b/\($0)") })
        #expect(changes.changed(among: lost, after: 3) == nil)
        changes.append([try change("b/9", 10)])
        #expect(changes.changed(among: lost, after: 3)?.id == "9")
        // A floor below stays: what was pushed out before is not back.
        for version in 11...16 as ClosedRange<Int64> { changes.append([try change("a/\(version)", version)]) }
        #expect(changes.floor == 12)
        changes.rollBack(to: 15)
        #expect(changes.floor == 12)
    }

    /// Nulls are stored as a byte each, and a client can write a million of them.
    @Test func smallValuesOfRecentChangesCountByTheMemoryThatTheyTake() throws {
        let memory = 10_000 * MemoryLayout<Value>.stride
        var changes = RecentChanges(floor: 0, maxCount: 100, maxBytes: 3 * memory)
        for version in 1...9 as ClosedRange<Int64> {
            let time = Timestamp(microseconds: version)
            let document = Document(
                path: try DocumentPath("a/d"), fields: ["n": .array(Array(repeating: .null, count: 10_000))],
                createTime: time, updateTime: time)
            let change = DocumentChange(path: document.path, before: nil, after: document)
            changes.append([
                RecentChanges.Entry(change, version: version, storedBytes: 10_000, weight: change.weight)
            ])
        }
        #expect(changes.floor == 7)
        #expect(changes.bytes <= 3 * memory && changes.bytes > 2 * memory)
    }

    /// Changes of the last second, or for which an open transaction is validated, stay although they are many. Those that
    /// have stayed are forgotten later, also if they were as many as may be.
    @Test(arguments: [50_000, 100]) func changesThatNoTransactionNeedsAreForgotten(maxChanges: Int) throws {
        var configuration = configuration
        configuration.maxRecentChanges = maxChanges
        // Of ten changes.
        configuration.maxUnneededBytes = 2_660
        var table = TransactionTable(version: 0, configuration: configuration)
        var version: Int64 = 0
        func change(seconds: Int) throws {
            for _ in 0..<seconds * 10 {
                version += 100_000
                table.applied([try self.change("a/\(version)", version)])
            }
        }
        /// Whether a transaction that has read a state can still commit.
        func isKnown(_ version: Int64) throws -> Bool {
            let id = try table.begin(isReadOnly: false, context: OperationContext(), at: .zero)
            _ = try table.read(id, owner: nil, try reads("b/1"), snapshot: version, at: .zero)
            return table.conflict(of: try table.end(id, owner: nil, at: .zero)) == nil
        }
        try change(seconds: 1)
        let begun = version
        let open = try table.begin(isReadOnly: false, context: OperationContext(), at: .zero)
        _ = try table.read(open, owner: nil, try reads("b/1"), snapshot: begun, at: .zero)
        try change(seconds: 30)
        #expect(try isKnown(begun) == (maxChanges > 300))
        #expect(try isKnown(version - 9_000_000))
        #expect(try !isKnown(begun - 500_000))
        let ended = try table.end(open, owner: nil, at: .zero)
        #expect((table.conflict(of: ended) == nil) == (maxChanges > 300))
        try change(seconds: 30)
        #expect(try !isKnown(begun))
        #expect(try !isKnown(version - 3_000_000))
        #expect(try isKnown(version - 1_000_000))
    }

    /// What a client has itself takes nothing from its share.
    @Test func oneClientAloneReachesItsLimits() throws {
        var table = TransactionTable(version: 0, configuration: configuration)
        var last: TransactionID?
        for _ in 0..<100 { last = try table.begin(isReadOnly: false, context: client(7), at: .zero) }
        let refused = #expect(throws: DocumentError.self) {
            try table.begin(isReadOnly: false, context: client(7), at: .zero)
        }
        #expect(refused?.message.contains("100 transactions") == true)
        let id = try #require(last)
        for n in 0..<configuration.maxNotedReadsPerClient {
            _ = try table.read(id, owner: 7, try reads("a/\(n)"), snapshot: 1, at: .zero)
        }
        #expect(throws: DocumentError.self) {
            try table.read(id, owner: 7, try reads("a/more"), snapshot: 1, at: .zero)
        }
    }
}
