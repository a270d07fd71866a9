import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import TestSupport
import Testing

/// Transactions of Firebase's client libraries: they retry commits only, and some name their first attempt each time.
@Suite(.endsHangs) struct ClientRetryTests {
    private var client: OperationContext {
        var context = OperationContext()
        context.retriesCommitsOnly = true
        return context
    }

    private func change(_ test: TestStore, _ path: String) async throws {
        try await test.set(path, ["n": .integer(Int64.random(in: 0...(.max)))])
    }

    private func write(_ path: String) throws -> [Write] {
        [Write(path: try DocumentPath(path), operation: .set(["own": .boolean(true)]))]
    }

    private func commit(_ path: String, _ transaction: TransactionID, _ test: TestStore) async -> StatusCode? {
        await refusal { try await test.commit(try write(path), in: transaction, context: client) }?.code
    }

    /// What the client has read comes from one state, and its commit is refused.
    @Test func readsGoOnInTheStateOfTheFirst() async throws {
        try await withStore { test in
            try await test.set("c/a", ["n": .integer(1)])
            try await test.set("c/b", ["n": .integer(1)])
            let transaction = try await test.begin(context: client)
            #expect(try await test.get("c/a", in: transaction, context: client)?.fields == ["n": .integer(1)])
            try await test.commit([
                Write(path: try DocumentPath("c/a"), operation: .set(["n": .integer(2)])),
                Write(path: try DocumentPath("c/b"), operation: .set(["n": .integer(2)])),
            ])
            #expect(try await test.get("c/b", in: transaction, context: client)?.fields == ["n": .integer(1)])
            let found = try await test.query(Query(collectionID: "c"), in: transaction, context: client)
            #expect(found.map(\.fields) == [["n": .integer(1)], ["n": .integer(1)]])
            #expect(await commit("c/a", transaction, test) == .aborted)
        }
    }

    /// Allows what doesn't exist, or is public.
    private struct Published: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            guard case .get(_, let document?) = access, document.fields["isPublic"] != .boolean(true) else { return }
            throw DocumentError(.permissionDenied, "no")
        }
    }

    /// The older state isn't shown because the newest one may be.
    @Test(arguments: [true, false]) func thePolicyDecidesOnWhatIsAnswered(isDeleted: Bool) async throws {
        try await withStore { test in
            try await test.set("c/mine", ["isPublic": .boolean(true)])
            try await test.set("c/note", ["secret": .string("s")])
            var user = client
            user.policy = Published()
            let transaction = try await test.begin(context: user)
            _ = try await test.get("c/mine", in: transaction, context: user)
            try await test.set("c/mine", ["isPublic": .boolean(true), "n": .integer(1)])
            let note = try DocumentPath("c/note")
            try await test.commit([
                Write(path: note, operation: isDeleted ? .delete : .set(["isPublic": .boolean(true)]))
            ])
            let seen = await refusal { _ = try await test.get("c/note", in: transaction, context: user) }
            #expect(seen?.code == .permissionDenied)
        }
    }

    /// A client isn't sent what its retry has read for it, so a change of that isn't its conflict.
    @Test func aRetryHasReadNothing() async throws {
        try await withStore { test in
            try await change(test, "c/a")
            let first = try await test.begin(context: client)
            _ = try await test.get("c/a", in: first, context: client)
            try await change(test, "c/a")
            #expect(await commit("c/a", first, test) == .aborted)
            let second = try await test.begin(.readWrite(retrying: first), context: client)
            try await change(test, "c/a")
            _ = try await test.get("c/a", in: second, context: client)
            #expect(await commit("c/a", second, test) == nil)
        }
    }

    /// The turn is kept, whichever attempt the client names.
    @Test(arguments: [true, false])
    func everyRetryHasItsTurn(namesFirst: Bool) async throws {
        try await withStore { test in
            try await change(test, "c/a")
            let first = try await test.begin(context: client)
            _ = try await test.get("c/a", in: first, context: client)
            try await change(test, "c/a")
            #expect(await commit("c/a", first, test) == .aborted)
            var last = first
            for _ in 0..<4 {
                last = try await test.begin(.readWrite(retrying: namesFirst ? first : last), context: client)
                _ = try await test.get("c/a", in: last, context: client)
                // Another transaction on the document has to wait for this one.
                let other = try await test.begin(context: client)
                _ = try await test.get("c/a", in: other, context: client)
                #expect(await commit("c/a", other, test) == .aborted)
                // A write without reads passes, and aborts it once more.
                try await change(test, "c/a")
                #expect(await commit("c/a", last, test) == .aborted)
            }
            last = try await test.begin(.readWrite(retrying: namesFirst ? first : last), context: client)
            _ = try await test.get("c/a", in: last, context: client)
            #expect(await commit("c/a", last, test) == nil)
        }
    }
}
