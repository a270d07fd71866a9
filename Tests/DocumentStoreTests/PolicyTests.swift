import StoreTestSupport
import DocumentModel
import DocumentStore
import Synchronization
import Testing

struct PolicyTests {
    /// Notes what it is asked, and refuses what the test says.
    private final class Recorder: AccessPolicy {
        let seen = Mutex<[Access]>([])
        let allows: @Sendable (Access, AccessView) throws -> Bool

        init(_ allows: @escaping @Sendable (Access, AccessView) throws -> Bool) { self.allows = allows }

        func check(_ access: Access, in view: AccessView) throws {
            seen.withLock { $0.append(access) }
            guard try allows(access, view) else { throw DocumentError(.permissionDenied, "no") }
        }
    }

    @Test func readsAndListsAreAskedFor() async throws {
        try await withStore { test in
            try await test.set("a/b", [:])
            let policy = Recorder { _, _ in false }
            let user = OperationContext(policy: policy)
            #expect(await refusal { _ = try await test.get("a/b", context: user) }?.code == .permissionDenied)
            let list = Query(collectionID: "a")
            #expect(await refusal { _ = try await test.query(list, context: user) }?.code == .permissionDenied)
            #expect(policy.seen.withLock { $0.count } == 2)
        }
    }

    @Test func writesAreAskedForWithTheirAfterImage() async throws {
        try await withStore { test in
            try await test.set("a/old", ["n": .integer(1)])
            let policy = Recorder { _, _ in true }
            let increment = FieldTransform(try FieldPath("n"), .increment(.integer(4)))
            try await test.commit(
                [
                    Write(
                        path: try DocumentPath("a/old"), operation: .update([:], mask: []), transforms: [increment]),
                    Write(path: try DocumentPath("a/new"), operation: .set([:])),
                    Write(path: try DocumentPath("a/gone"), operation: .delete),
                ], context: OperationContext(policy: policy))
            let seen = policy.seen.withLock { $0 }
            guard case .update(let before, let after) = seen[0], case .create = seen[1] else {
                throw DocumentError(.unknown, "\(seen)")
            }
            #expect(before?.fields == ["n": .integer(1)])
            #expect(after.fields == ["n": .integer(5)])
            #expect(seen[2] == .delete(try DocumentPath("a/gone"), nil))
        }
    }

    /// SDKs retry transactions whose document was created or removed meanwhile, and not those that were denied.
    @Test func aPreconditionSaysWhetherAWriteCreatesOrUpdates() async throws {
        try await withStore { test in
            try await test.set("a/there", ["n": .integer(1)])
            func codes(_ path: String, _ precondition: Write.Precondition) async throws -> [StatusCode?] {
                let write = Write(path: try DocumentPath(path), operation: .set([:]), precondition: precondition)
                var found: [StatusCode?] = []
                for allowsCreating in [false, true] {
                    let policy = Recorder { access, _ in
                        if case .create = access { allowsCreating } else { !allowsCreating }
                    }
                    let user = OperationContext(policy: policy)
                    found.append(await refusal { try await test.commit([write], context: user) }?.code)
                    let seen = policy.seen.withLock { $0 }
                    switch seen.first {
                    case .create(_, let over)?: #expect(over?.path.string == (path == "a/there" ? path : nil))
                    case .update(let from, _)?: #expect(from?.path.string == (path == "a/there" ? path : nil))
                    default: Issue.record("\(seen)")
                    }
                }
                return found
            }
            #expect(try await codes("a/there", .exists(false)) == [.permissionDenied, .alreadyExists])
            #expect(try await codes("a/gone", .exists(true)) == [.notFound, .permissionDenied])
            let stale = Timestamp(microseconds: 1)
            #expect(try await codes("a/gone", .updateTime(stale)) == [.failedPrecondition, .permissionDenied])
            #expect(try await codes("a/there", .updateTime(stale)) == [.failedPrecondition, .permissionDenied])
            #expect(try await codes("a/there", .exists(true)) == [nil, .permissionDenied])
            #expect(try await codes("a/new", .exists(false)) == [.permissionDenied, nil])
        }
    }

    @Test func severalWritesOfADocumentAreDecidedTogether() async throws {
        try await withStore { test in
            func write(_ path: String, _ n: Int64?, _ precondition: Write.Precondition? = nil) throws -> Write {
                let operation = n.map { Write.Operation.set(["n": .integer($0)]) } ?? .delete
                return Write(path: try DocumentPath(path), operation: operation, precondition: precondition)
            }
            try await test.set("a/old", ["n": .integer(0)])
            try await test.set("a/replaced", ["n": .integer(0)])
            let policy = Recorder { _, _ in true }
            try await test.commit(
                [
                    try write("a/new", 1), try write("a/old", 1), try write("a/new", 2, .exists(true)),
                    try write("a/old", nil), try write("a/replaced", nil), try write("a/replaced", 1),
                    try write("a/never", 1), try write("a/never", nil),
                ], context: OperationContext(policy: policy))
            let seen = policy.seen.withLock { $0 }
            try #require(seen.count >= 4)
            guard case .create(let new, nil) = seen[0], case .delete(let old, let before) = seen[1],
                case .update(let replaced, let after) = seen[2]
            else { throw DocumentError(.unknown, "\(seen)") }
            #expect(new.fields == ["n": .integer(2)])
            #expect(old.string == "a/old" && before?.fields == ["n": .integer(0)])
            #expect(replaced?.fields == ["n": .integer(0)] && after.fields == ["n": .integer(1)])
            #expect(seen[3] == .delete(try DocumentPath("a/never"), nil))
        }
    }

    @Test func aPolicySeesOtherDocumentsBeforeAndAfter() async throws {
        try await withStore { test in
            let other = try DocumentPath("a/other")
            let policy = Recorder { _, view in
                try view.document(other) == nil && view.documentAfter(other) != nil
            }
            let user = OperationContext(policy: policy)
            let alone = Write(path: try DocumentPath("a/b"), operation: .set([:]))
            #expect(await refusal { try await test.commit([alone], context: user) }?.code == .permissionDenied)
            #expect(try await test.get("a/b") == nil)
            try await test.commit([alone, Write(path: other, operation: .set([:]))], context: user)
            #expect(try await test.get("a/b") != nil)
        }
    }
}
