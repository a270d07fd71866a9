import CommitPipeline
import DocumentModel
import RealtimeModel
import RealtimeStore
import StoreTestSupport
import TestSupport
import Testing

/// What queries and their listeners may read and hold.
struct QueryLimitTests {
    /// Children `a` and so on with long texts that have their beginning in common.
    private static func texts(_ count: Int) -> RealtimeNode? {
        let children = (0..<count).map { number in
            let key = RealtimeKey(unchecked: String(UnicodeScalar(97 + UInt8(number))))
            return (key, RealtimeNode(.string(String(repeating: "x", count: 10_000) + String(number)), priority: nil))
        }
        return RealtimeNode(RealtimeChildren(sorted: children))
    }

    private static func set(_ node: RealtimeNode?, in fixture: RealtimeFixture) async throws {
        try await fixture.commit(.set(RealtimeTarget(try RealtimePath("list")), RealtimeWriteValue(node)))
    }

    private static func keys(from start: String) throws -> RealtimeQuery {
        RealtimeQuery(index: .key, start: .init(value: nil, key: .key(try RealtimeKey(start)), isInclusive: true))
    }

    // MARK: Bytes

    @Test(arguments: [false, true]) func theBytesOfAQueryCountTogether(isIndexed: Bool) async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.limits.maxBytes = 100_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        if isIndexed {
            let list = RealtimeIndexDefinition(parents: [.key(try RealtimeKey("list"))], index: .value)
            try await fixture.store.configureIndexes([list], in: RealtimeFixture.namespace)
            try await fixture.store.settle()
        }
        try await Self.set(Self.texts(20), in: fixture)
        let path = try RealtimePath("list")
        let (all, few) = (try Self.keys(from: "a"), try Self.keys(from: "p"))
        // One result, although it has one child only, has to look at all.
        let last = RealtimeQuery(index: .value, limit: .last(1))
        for body in [
            { _ = try $0.node(at: path, matching: all) },
            { _ = try $0.hash(at: path, matching: all) },
            { state in try state.writeJSON(at: path, matching: all, as: .plain) { _ in } },
            { _ = try $0.matches(of: last, at: path) },
        ] as [@Sendable (RealtimeSnapshot) throws -> Void] {
            let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.read(body) }
            #expect(failure?.code == .tooLarge)
        }
        #expect(try await fixture.read { try $0.node(at: path, matching: few) }?.children.count == 5)
        // What was looked at and what is returned are one read, also if it was looked at before.
        let values = RealtimeQuery(index: .value, start: .init(value: "x", key: .minimum, isInclusive: true))
        try await Self.set(Self.texts(6), in: fixture)
        for isFound in [false, true] {
            let failure = await #expect(throws: RealtimeFailure.self) {
                try await fixture.read { state in
                    if isFound { _ = try state.matches(of: values, at: path) }
                    _ = try state.node(at: path, matching: values)
                }
            }
            #expect(failure?.code == .tooLarge)
        }
        try await Self.set(Self.texts(4), in: fixture)
        #expect(try await fixture.read { try $0.matches(of: last, at: path).entries.map(\.key.string) } == ["d"])
        #expect(try await fixture.read { try $0.node(at: path, matching: last) }?.children.count == 1)
        try await fixture.close()
    }
}
