import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// What is decided on clients' commits before they reach the writer; see `CommitDecisionTests` for what the writer does then.
@Suite(.endsHangs) struct ClientCommitCheckTests {
    /// Counts how often it decides on each document. It denies those of the collection `denied`, and those of `later`
    /// until there is `c/d0`.
    private final class Policy: AccessPolicy {
        private let counts = Mutex<[DocumentPath: Int]>([:])

        func count(_ path: String) -> Int {
            counts.withLock { counts in counts.first { $0.key.string == path }?.value ?? 0 }
        }

        func check(_ access: Access, in view: AccessView) throws(DocumentError) {
            let path: DocumentPath
            switch access {
            case .create(let document, _), .update(_, let document): path = document.path
            case .delete(let deleted, _), .get(let deleted, _): path = deleted
            case .list, .listed: return
            }
            counts.withLock { $0[path, default: 0] += 1 }
            let first = try DocumentPath("c/d0")
            let isDenied =
                switch path.parent.id {
                case "denied": true
                case "later": try view.document(first) == nil
                default: false
                }
            if isDenied { throw DocumentError(.permissionDenied, "no") }
        }
    }

    private let policy = Policy()
    private let field = FieldPath(segments: ["a"])

    private var client: OperationContext { OperationContext(owner: 7, policy: policy) }

    private func sets(_ count: Int, in collection: String = "c") throws -> [Write] {
        try (0..<count).map { Write(path: try DocumentPath("\(collection)/d\($0)"), operation: .set([:])) }
    }

    private func update(_ path: String, _ operations: [FieldTransform.Operation]) throws -> Write {
        Write(
            path: try DocumentPath(path), operation: .update([:], mask: []),
            transforms: operations.map { FieldTransform(field, $0) })
    }

    @Test func smallCommitsWaitForNoLargeOne() throws {
        func isLarge(_ writes: [Write]) -> Bool { client.caller(of: writes) == .clientCommit(7) }
        let (one, many) = ([Value.integer(1)], [Value](repeating: .integer(1), count: 10_000))
        #expect(!isLarge(try sets(10)))
        #expect(isLarge(try sets(11)))
        #expect(!isLarge([try update("c/d", [.arrayUnion(one), .increment(.integer(1))])]))
        #expect(isLarge([try update("c/d", [.arrayUnion(one), .arrayRemove(one)])]))
        #expect(isLarge([try update("c/d", Array(repeating: .increment(.integer(1)), count: 10))]))
        #expect(isLarge([try update("c/d", [.arrayUnion(many)])]))
        #expect(isLarge([Write(path: try DocumentPath("c/d"), operation: .set(["a": .array(many)]))]))
        let masked = { (count: Int) in
            [
                Write(
                    path: try DocumentPath("c/d"),
                    operation: .update([:], mask: (0..<count).map { FieldPath(segments: ["f\($0)"]) }))
            ]
        }
        #expect(!isLarge(try masked(90)))
        #expect(isLarge(try masked(200)))
    }

    /// Each array may be transformed once, and each document written once.
    @Test(arguments: ["c/d", "denied/d"]) func whatACommitComputesAgainIsBounded(path: String) async throws {
        var configuration = TestStore.configuration
        configuration.maxClientRepeatedBytes = 1000
        configuration.maxRepeatedBytes = 10_000
        try await withStore(configuration: configuration) { test in
            // 800 bytes.
            try await test.set(path, ["a": .array((0..<100).map { .integer($0) })])
            func transforms(_ count: Int) throws -> Write {
                try update(path, (0..<count).map { .arrayUnion([.integer(1000 + Int64($0))]) })
            }
            let isDenied = path != "c/d"
            let twice = [try transforms(2)]
            let thrice = [try transforms(3)]
            let writes = [try transforms(1), try transforms(1), try transforms(1)]
            for (commit, isBounded) in [(twice, true), (thrice, false), (writes, false)] {
                let error = await refusal { try await test.commit(commit, context: client) }
                let expected: StatusCode? = isDenied ? .permissionDenied : isBounded ? nil : .invalidArgument
                #expect(error?.code == expected, "\(error as Any)")
                if !isBounded, !isDenied { #expect(error?.message.contains("1000 bytes") == true) }
            }
            try await test.commit(thrice)
            try await test.commit(writes)
            let much = [try transforms(20)]
            #expect(await refusal { try await test.commit(much) }?.code == .invalidArgument)
        }
    }

    /// However few elements it has.
    @Test func anArrayThatIsTransformedAgainCountsWithAllThatIsInIt() async throws {
        var configuration = TestStore.configuration
        configuration.maxClientRepeatedBytes = 1000
        try await withStore(configuration: configuration) { test in
            // 700 bytes.
            let members = (0..<100).map { ("m\(1000 + $0)", Value.null) }
            let map = Value.map(Dictionary(uniqueKeysWithValues: members))
            try await test.set("c/d", ["a": .array([map])])
            for (count, code) in [(2, nil), (3, .invalidArgument)] as [(Int, StatusCode?)] {
                let write = try update("c/d", Array(repeating: .arrayUnion([.integer(1)]), count: count))
                let error = await refusal { try await test.commit([write], context: client) }
                #expect(error?.code == code, "\(error as Any)")
            }
            #expect(try await test.get("c/d")?.fields["a"] == .array([map, .integer(1)]))
        }
    }

    @Test func aRefusedTransactionHasEndedWithoutTheWriter() async throws {
        try await withStore { test in
            let id = try await test.begin(context: client)
            _ = try await test.get("c/d1", in: id, context: client)
            let left = OperationCancellation()
            left.cancel()
            // Nothing was decided.
            let gone = OperationContext(owner: 7, policy: policy, cancellation: left)
            #expect(
                await refusal { try await test.commit(try sets(20), in: id, context: gone) } == DocumentError.callerLeft
            )
            let writes = try sets(20) + sets(1, in: "denied")
            #expect(
                await refusal { try await test.commit(writes, in: id, context: client) }?.code == .permissionDenied)
            #expect(policy.count("denied/d0") == 1)
            #expect(await refusal { try await test.commit([], in: id, context: client) }?.code == .invalidArgument)
            // Without a conflict, the refusal is the commit's even if other documents have changed.
            let second = try await test.begin(context: client)
            _ = try await test.get("c/d1", in: second, context: client)
            try await test.set("c/other", [:])
            #expect(
                await refusal { try await test.commit(writes, in: second, context: client) }?.code == .permissionDenied)
            #expect(policy.count("denied/d0") == 2)
            let third = try await test.begin(context: client)
            _ = try await test.get("c/d1", in: third, context: client)
            try await test.set("c/d1", [:])
            #expect(await refusal { try await test.commit(writes, in: third, context: client) }?.code == .aborted)
        }
    }

    @Test func independentWritesThatAreDeniedDontReachTheWriter() async throws {
        try await withStore { test in
            // Each sees those before it.
            let writes = try sets(1, in: "denied") + sets(15) + sets(1, in: "later")
            let results = try await test.store.batchWrite(writes, in: client)
            try #require(results.count == 17)
            #expect(throws: DocumentError(.permissionDenied, "no")) { try results[0].get() }
            for result in results.dropFirst() { #expect(throws: Never.self) { try result.get() } }
            #expect(policy.count("denied/d0") == 1)
            #expect(policy.count("c/d0") == 1)
            #expect(try await test.query(Query(collectionID: "c")).count == 15)
            #expect(try await test.get("later/d0") != nil)
            let all = try await test.store.batchWrite(try sets(20, in: "denied"), in: client)
            #expect(all.count == 20)
            for result in all { #expect(throws: DocumentError(.permissionDenied, "no")) { try result.get() } }
            #expect(policy.count("denied/d1") == 1)
            let tooMany = await refusal { _ = try await test.store.batchWrite(try sets(501), in: client) }
            #expect(tooMany?.code == .invalidArgument)
        }
    }

    @Test func aDamagedDocumentFailsOnlyItsOwnWrite() async throws {
        try await withStore { test in
            let writes = try sets(3)
            try test.store.engine.write { try $0.put(.documents, DocumentKeys.key(of: writes[1].path), [9, 9]) }
            for context in [client, OperationContext()] {
                let results = try await test.store.batchWrite(writes, in: context)
                let codes = results.map { result -> StatusCode? in
                    if case .failure(let error) = result { error.code } else { nil }
                }
                #expect(codes == [nil, .dataLoss, nil])
            }
        }
    }

    @Test func independentWritesCostOnlyWhatIsApplied() async throws {
        var configuration = TestStore.configuration
        configuration.maxClientCommitCost = 20
        try await withStore(configuration: configuration) { test in
            let writes = try sets(30, in: "denied") + sets(30)
            let results = try await test.store.batchWrite(writes, in: client)
            let codes = results.map { result -> StatusCode? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            #expect(codes[..<30].allSatisfy { $0 == .permissionDenied })
            #expect(codes[30..<51].allSatisfy { $0 == nil })
            #expect(codes[51...].allSatisfy { $0 == .resourceExhausted })
            #expect(policy.count("c/d25") == 0)
        }
    }

    /// Its error isn't that of a query.
    @Test func aCheckHasABoundOfItsOwn() async throws {
        var configuration = TestStore.configuration
        configuration.clientCommitLimits = QueryLimits(entries: 50, documents: 5, time: .seconds(1000))
        try await withStore(configuration: configuration) { test in
            try await test.commit(try sets(11))
            let deletes = try sets(11).map { Write(path: $0.path, operation: .delete) }
            let error = await refusal { try await test.commit(deletes, context: client) }
            // SDKs would send it for ever, and no write behind it.
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("check of a client's commit may read 5 documents") == true)
            let results = try await test.store.batchWrite(deletes, in: client)
            #expect(results.count { (try? $0.get()) != nil } == 5)
            for case .failure(let error) in results { #expect(error.code == .resourceExhausted) }
        }
    }

    /// Takes a second for each decision.
    private final class SlowPolicy: AccessPolicy {
        private let clock: ManualClock
        private let made = Mutex(0)

        init(_ clock: ManualClock) { self.clock = clock }

        var decisions: Int { made.withLock { $0 } }

        func check(_ access: Access, in view: AccessView) {
            made.withLock { $0 += 1 }
            clock.advance(by: .seconds(1))
        }
    }

    /// All documents are read before the first decision.
    @Test func decisionsEndAtTheBoundOnACheck() async throws {
        var configuration = TestStore.configuration
        configuration.clientCommitLimits.time = .seconds(10)
        try await withStore(configuration: configuration) { test in
            let slow = SlowPolicy(test.clock)
            let context = OperationContext(owner: 7, policy: slow)
            let error = await refusal { try await test.commit(try sets(60), context: context) }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("check of a client's commit may read for 10 s") == true)
            #expect((10..<30).contains(slow.decisions))
            let stored = try await test.query(Query(collectionID: "c"))
            #expect(stored.isEmpty)
        }
    }
}
