@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Testing

struct ListenerTests {
    private func path(_ string: String) throws -> DocumentPath { try DocumentPath(string) }

    private func delete(_ string: String) throws -> Write { Write(path: try path(string), operation: .delete) }

    @Test(arguments: EngineKind.allCases)
    func aDocumentIsFollowedFromWhatIsThere(kind: EngineKind) async throws {
        let test = try TestStore(kind)
        let first = try await test.set("a/b", ["n": .integer(1)]).commitTime
        let listener = try test.store.listen(to: .documents([path("a/b"), path("a/c")]))
        let was = try #require(await test.get("a/b"))
        #expect(try await listener.next() == .initial([was], at: first))
        #expect(listener.currentTime == first)
        try await test.set("a/other", [:])
        let second = try await test.set("a/c", [:]).commitTime
        let made = try #require(await test.get("a/c"))
        #expect(try await listener.next() == .changes([.added(made)], at: second))
        let third = try await test.commit([delete("a/b")]).commitTime
        #expect(try await listener.next() == .changes([.removed(was, deleted: true)], at: third))
        await test.store.shutdown()
        #expect(await refusal { _ = try await listener.next() } == CommitPipeline.shutDown)
        #expect(try await listener.next() == nil)
    }

    @Test func aWindowIsFilledAgainFromBehind() async throws {
        try await withStore { test in
            for n in 1...5 { try await test.set("c/d\(n)", ["n": .integer(Int64(n))]) }
            var query = Query(collectionID: "c")
            query.orderBy = [Query.Order(try FieldPath("n"), descending: true)]
            query.limit = 2
            query.offset = 1
            let listener = try test.store.listen(to: .query(query))
            guard case .initial(let documents, _)? = try await listener.next() else {
                throw DocumentError(.unknown, "")
            }
            #expect(documents.map(\.path.id) == ["d4", "d3"])
            let fifth = try await test.get("c/d5")
            let time = try await test.commit([delete("c/d4"), delete("c/d2")]).commitTime
            let first = try #require(await test.get("c/d1"))
            #expect(
                try await listener.next()
                    == .changes([.removed(documents[0], deleted: true), .added(first)], at: time))
            #expect(fifth != nil)
        }
    }

    /// Allows each list, and to get what isn't secret. Some decisions need another document, or take long.
    private struct Partly: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            guard case .get(_, let document?) = access else { return }
            if document.fields["elsewhere"] != nil { _ = try view.document(DocumentPath("c/other")) }
            if document.fields["costly"] != nil { try view.spend(1_000) }
            if document.fields["secret"] != nil { throw DocumentError(.permissionDenied, "secret") }
        }
    }

    /// Two listeners on one query receive what is found out once, but not each other's documents.
    @Test(arguments: [nil, 5] as [Int?])
    func aDocumentThatLeavesComesWithItsNewStateIfTheListenerMayGetIt(limit: Int?) async throws {
        try await withStore { test in
            var query = Query(collectionID: "c")
            query.filter = .field(try FieldPath("n"), .equal, .integer(1))
            query.limit = limit
            let admin = try test.store.listen(to: .query(query))
            let client = try test.store.listen(to: .query(query), in: OperationContext(owner: 1, policy: Partly()))
            for listener in [admin, client] { _ = try await listener.next() }
            for name in ["open", "secret", "elsewhere", "costly"] {
                try await test.set("c/d", ["n": .integer(1)])
                for listener in [admin, client] { _ = try await listener.next() }
                let was = try #require(await test.get("c/d"))
                let time = try await test.set("c/d", ["n": .integer(2), name: .boolean(true)]).commitTime
                let now = try #require(await test.get("c/d"))
                let left = ListenEvent.changes([.removed(was, deleted: false)], at: time)
                let known = ListenEvent.changes([.removed(was, deleted: false, now: now)], at: time)
                #expect(try await admin.next() == known)
                #expect(try await client.next() == (name == "open" ? known : left))
            }
        }
    }

    /// A client that comes back would otherwise listen to each such document by itself.
    @Test func whatHasLeftWhileTheClientWasAwayComesWithItsNewStateIfItMayGetIt() async throws {
        try await withStore { test in
            var query = Query(collectionID: "c")
            query.filter = .field(try FieldPath("n"), .equal, .integer(1))
            var position: Timestamp?
            for id in ["a", "b", "d"] { position = try await test.set("c/\(id)", ["n": .integer(1)]).commitTime }
            var was: [Document] = []
            for id in ["a", "b", "d"] { was.append(try #require(await test.get("c/\(id)"))) }
            try await test.set("c/a", ["n": .integer(2)])
            try await test.set("c/b", ["n": .integer(2), "secret": .boolean(true)])
            try await test.set("c/d", ["n": .integer(2)])
            try await test.commit([delete("c/d")])
            let now = try #require(await test.get("c/a"))
            let client = OperationContext(owner: 1, policy: Partly())
            let listener = try test.store.listen(to: .query(query), from: position, in: client)
            guard case .changes(let changes, _)? = try await listener.next() else { throw DocumentError(.unknown, "") }
            #expect(
                changes == [
                    .removed(was[0], deleted: false, now: now), .removed(was[1], deleted: false),
                    .removed(was[2], deleted: true),
                ])
        }
    }

    /// SDKs know the state of a document that others have pushed out.
    @Test func aDocumentThatIsPushedOutHasNoNewState() async throws {
        try await withStore { test in
            var query = Query(collectionID: "c")
            query.orderBy = [Query.Order(try FieldPath("n"))]
            query.limit = 1
            try await test.set("c/a", ["n": .integer(2)])
            let a = try #require(await test.get("c/a"))
            let listener = try test.store.listen(to: .query(query))
            _ = try await listener.next()
            let first = try await test.set("c/b", ["n": .integer(1)]).commitTime
            let b = try #require(await test.get("c/b"))
            #expect(try await listener.next() == .changes([.removed(a, deleted: false), .added(b)], at: first))
            let second = try await test.set("c/b", ["n": .integer(3)]).commitTime
            let now = try #require(await test.get("c/b"))
            #expect(
                try await listener.next()
                    == .changes([.removed(b, deleted: false, now: now), .added(a)], at: second))
        }
    }

    @Test func timeMovesOnWhereNothingConcernsTheListener() async throws {
        try await withStore { test in
            let listener = try test.store.listen(to: .documents([path("a/b")]))
            #expect(listener.currentTime == nil)
            _ = try await listener.next()
            let time = try await test.set("x/y", [:]).commitTime
            while listener.currentTime ?? time != time { await Task.yield() }
        }
    }

    @Test func aListenerThatIsNotReadIsToldToStartOver() async throws {
        var configuration = TestStore.configuration
        configuration.maxListenerEvents = 3
        try await withStore(configuration: configuration) { test in
            let listener = try test.store.listen(to: .query(Query(collectionID: "c")))
            _ = try await listener.next()
            while test.store.listeners.count > 0 { try await test.set("c/d", ["n": .integer(.random(in: 0...(.max)))]) }
            guard case .startOver(let reason)? = try await listener.next() else { throw DocumentError(.unknown, "") }
            #expect(reason.contains("too slowly"))
            #expect(try await listener.next() == nil)
        }
    }

    @Test func aListenerEndsWithItsOwnerOrItsLastHolder() async throws {
        try await withStore { test in
            let target = ListenTarget.documents([try path("a/b")])
            let owned = try test.store.listen(to: target, in: OperationContext(owner: 1))
            var held: DocumentListener? = try test.store.listen(to: target, in: OperationContext(owner: 2))
            let cancelled = try test.store.listen(to: target, in: OperationContext(owner: 2))
            #expect(test.store.listeners.count == 3)
            _ = try await owned.next()
            test.store.release(owner: 1)
            #expect(await refusal { _ = try await owned.next() }?.code == .cancelled)
            async let end = cancelled.next()
            cancelled.cancel()
            guard case nil = try await end else { return #expect(try await cancelled.next() == nil) }
            _ = try await held?.next()
            #expect(test.store.listeners.count == 1)
            held = nil
            #expect(test.store.listeners.count == 0)
        }
    }

    @Test func tooManyListenersAreRefusedAndSoAreWrongQueries() async throws {
        var configuration = TestStore.configuration
        configuration.maxListeners = 1
        let test = try TestStore(configuration: configuration)
        var query = Query(collectionID: "c")
        query.limit = -1
        #expect(await refusal { _ = try test.store.listen(to: .query(query)) }?.code == .invalidArgument)
        let first = try test.store.listen(to: .query(Query(collectionID: "c")))
        let error = await refusal { _ = try test.store.listen(to: .query(Query(collectionID: "d"))) }
        #expect(error?.code == .unavailable)
        first.cancel()
        _ = try test.store.listen(to: .query(Query(collectionID: "d")))
        await test.store.shutdown()
        let late = await refusal { _ = try test.store.listen(to: .query(Query(collectionID: "d"))) }
        #expect(late == CommitPipeline.shutDown)
    }

    /// Refuses documents that say so, and lists.
    private struct Secrets: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            switch access {
            case .get(_, let document?) where document.fields["secret"] == nil: return
            case .get(_, nil): return
            default: throw DocumentError(.permissionDenied, "secret")
            }
        }
    }

    @Test func thePolicyIsAskedFirstAndAtEachChange() async throws {
        try await withStore { test in
            let context = OperationContext(policy: Secrets())
            try await test.set("a/b", [:])
            let listener = try test.store.listen(to: .documents([path("a/b")]), in: context)
            _ = try await listener.next()
            try await test.set("a/b", ["secret": .boolean(true)])
            #expect(await refusal { _ = try await listener.next() }?.code == .permissionDenied)
            let again = try test.store.listen(to: .documents([path("a/b")]), in: context)
            #expect(await refusal { _ = try await again.next() }?.code == .permissionDenied)
            let list = try test.store.listen(to: .query(Query(collectionID: "a")), in: context)
            #expect(await refusal { _ = try await list.next() }?.code == .permissionDenied)
            #expect(test.store.listeners.figures.listeners == 0)
        }
    }

    /// Allows a query of `a/b` as long as that isn't secret.
    private struct NamedSecrets: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            let document: Document? =
                switch access {
                case .list: try view.named(DocumentPath("a/b"))
                case .listed(let document, _): document
                default: nil
                }
            guard let document, document.fields["secret"] == nil else {
                throw DocumentError(.permissionDenied, "secret")
            }
        }
    }

    /// Each of the listeners is decided by itself, on the whole document, also where all receive the same.
    @Test(arguments: [nil, 2] as [Int?])
    func thePolicyIsAskedAgainAboutDocumentsThatAQueryNames(limit: Int?) async throws {
        try await withStore { test in
            var query = Query(collectionID: "a")
            query.projection = [try FieldPath("n")]
            query.limit = limit
            try await test.set("a/b", ["n": .integer(1)])
            let client = try test.store.listen(
                to: .query(query), in: OperationContext(owner: 1, policy: NamedSecrets()))
            let admin = try test.store.listen(to: .query(query))
            for listener in [client, admin] { _ = try await listener.next() }
            try await test.set("a/b", ["n": .integer(2)])
            for listener in [client, admin] {
                guard case .changes(let changes, _)? = try await listener.next() else {
                    throw DocumentError(.unknown, "")
                }
                #expect(changes.map(\.document.fields) == [["n": .integer(2)]])
            }
            try await test.set("a/b", ["n": .integer(3), "secret": .boolean(true)])
            #expect(await refusal { _ = try await client.next() }?.code == .permissionDenied)
            guard case .changes(let changes, _)? = try await admin.next() else { throw DocumentError(.unknown, "") }
            #expect(changes.map(\.document.fields) == [["n": .integer(3)]])
        }
    }

    @Test(arguments: [nil, 2] as [Int?]) func aListenerStartsOverIfTheLogIsDamaged(limit: Int?) async throws {
        try await withStore { test in
            var query = Query(collectionID: "c")
            query.limit = limit
            try await test.set("c/a", [:])
            let position = try await test.set("c/b", [:]).commitTime
            try await test.set("c/a", ["n": .integer(1)])
            try test.store.engine.write { writer in
                var keys: [[UInt8]] = []
                try writer.scanKeys(.changes, ChangeLog.range(after: position.microseconds), reverse: false) { key in
                    keys.append(key)
                    return true
                }
                for key in keys { try writer.put(.changes, key, [0xFF]) }
            }
            let listener = try test.store.listen(to: .query(query), from: position)
            guard case .startOver(let reason)? = try await listener.next() else { throw DocumentError(.unknown, "") }
            #expect(reason.contains("damaged"))
            let again = try test.store.listen(to: .query(query))
            guard case .initial(let documents, _)? = try await again.next() else { throw DocumentError(.unknown, "") }
            #expect(documents.map(\.path.id) == ["a", "b"])
        }
    }

    @Test func aPositionThatCantBeGoneOnFromMeansToStartOver() async throws {
        try await withStore { test in
            let time = try await test.set("a/b", [:]).commitTime
            for offset in [-1_000_000_000, 1_000_000_000] as [Int64] {
                let position = Timestamp(microseconds: time.microseconds + offset)
                let listener = try test.store.listen(to: .query(Query(collectionID: "a")), from: position)
                guard case .startOver(let reason)? = try await listener.next() else {
                    throw DocumentError(.unknown, "")
                }
                #expect(reason.contains("start over"))
            }
        }
    }
}
