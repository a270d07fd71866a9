import DocumentModel
import DocumentStore
import TestSupport
import Testing

/// Who gets a turn on what it has read, and for how long.
@Suite struct TurnLimitTests {
    private let path = "hot/counter"

    private struct AllowEverything: AccessPolicy {
        func check(_ access: Access, in view: AccessView) {}
    }

    /// A write that changes the counter, whatever it is.
    private func change() throws -> [Write] {
        [Write(path: try DocumentPath(path), operation: .set(["n": .integer(.random(in: 0...Int64.max))]))]
    }

    /// A transaction that has read the counter and lost.
    private func loser(_ test: TestStore, _ context: OperationContext = OperationContext()) async throws
        -> TransactionID
    {
        let id = try await test.begin(context: context)
        _ = try await test.get(path, in: id, context: context)
        try await lose(test, id, context)
        return id
    }

    private func lose(_ test: TestStore, _ id: TransactionID, _ context: OperationContext) async throws {
        try await test.commit(change())
        let error = await refusal { try await test.commit(change(), in: id, context: context) }
        #expect(error?.code == .aborted)
    }

    /// Whether another transaction that reads the counter can change it.
    private func isFree(_ test: TestStore) async throws -> Bool {
        let other = try await test.begin()
        _ = try await test.get(path, in: other)
        let error = await refusal { try await test.commit(change(), in: other) }
        if let error { #expect(error.code == .aborted) }
        return error == nil
    }

    /// A client could take a turn and never come back.
    @Test func functionsHaveTurnsAndClientsHaveNone() async throws {
        let test = try TestStore()
        try await test.commit(change())
        let client = OperationContext(policy: AllowEverything())
        let lost = try await loser(test, client)
        _ = try await test.begin(.readWrite(retrying: lost), context: client)
        #expect(try await isFree(test))
        let function = try await loser(test)
        let turn = try await test.begin(.readWrite(retrying: function))
        #expect(try await !isFree(test))
        try await test.commit(change(), in: turn)
        #expect(try await isFree(test))
        await test.store.shutdown()
    }

    /// What depends on no read passes, and so does what was read elsewhere.
    @Test(arguments: [false, true]) func aTurnOnAQueryKeepsOthersFromItsResult(isGroup: Bool) async throws {
        let test = try TestStore()
        try await test.commit(change())
        var query = Query(collectionID: "hot")
        query.allDescendants = isGroup
        let lost = try await test.begin()
        _ = try await test.query(query, in: lost)
        try await lose(test, lost, OperationContext())
        let turn = try await test.begin(.readWrite(retrying: lost))
        #expect(try await !isFree(test))
        let reader = try await test.begin()
        _ = try await test.query(query, in: reader)
        #expect(await refusal { try await test.commit(change(), in: reader) }?.code == .aborted)
        let elsewhere = try await test.begin()
        _ = try await test.get("cold/a", in: elsewhere)
        _ = try await test.query(Query(collectionID: "cold"), in: elsewhere)
        try await test.set("cold/a", [:], in: elsewhere)
        try await test.commit(change(), in: turn)
        #expect(try await isFree(test))
        await test.store.shutdown()
    }

    /// A transaction that loses again and again, such as to writes that read nothing, doesn't keep others out.
    @Test func aTurnThatIsContinuedEndsAtItsTime() async throws {
        let test = try TestStore()
        try await test.commit(change())
        let lost = try await loser(test)
        let turn = try await test.begin(.readWrite(retrying: lost))
        test.clock.advance(seconds: 1)
        #expect(try await !isFree(test))
        try await lose(test, turn, OperationContext())
        _ = try await test.begin(.readWrite(retrying: turn))
        #expect(try await !isFree(test))
        test.clock.advance(seconds: 1.5)
        #expect(try await isFree(test))
        await test.store.shutdown()
    }

    /// One that has lost within its turn isn't open, and keeps the turn for its retry.
    @Test func aTurnThatWaitsForItsRetryEndsWithItsOwner() async throws {
        let test = try TestStore()
        try await test.commit(change())
        let owner = OperationContext(owner: 7)
        let lost = try await loser(test, owner)
        let turn = try await test.begin(.readWrite(retrying: lost), context: owner)
        try await lose(test, turn, owner)
        #expect(try await !isFree(test))
        test.store.release(owner: 7)
        #expect(try await isFree(test))
        await test.store.shutdown()
    }
}
