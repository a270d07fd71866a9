import CommitPipeline
import DocumentModel
import RealtimeModel
import RealtimeStore
import RealtimeTesting
import TestSupport
import Testing

/// Changes of nodes call the functions whose patterns match.
struct TriggerTests {
    @Test(.endsHangs) func aWriteAtTheNodeItself() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [
            try RealtimeTrigger("created", .created, "rooms/{room}"),
            try RealtimeTrigger("updated", .updated, "rooms/{room}"),
            try RealtimeTrigger("deleted", .deleted, "rooms/{room}"),
            try RealtimeTrigger("written", .written, "rooms/{room}"),
        ])
        try await fixture.set("rooms/a", #"{"n":1}"#)
        try await fixture.set("rooms/a", #"{"n":2}"#)
        try await fixture.set("rooms/a", #"{"n":2}"#)
        try await fixture.set("rooms/a", "null")
        let (created, updated, deleted) = (
            #"/rooms/a nothing -> {"n":1}"#, #"/rooms/a {"n":1} -> {"n":2}"#, #"/rooms/a {"n":2} -> nothing"#
        )
        #expect(try await fixture.take("created") == [created])
        #expect(try await fixture.take("updated") == [updated])
        #expect(try await fixture.take("deleted") == [deleted])
        #expect(try await fixture.take("written") == [created, updated, deleted])
        try await fixture.close()
    }

    @Test(.endsHangs) func aWriteBelowTheNodeHasTheWholeNode() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("rooms/a", #"{"title":"t","users":{"u":1}}"#)
        fixture.route(to: [try RealtimeTrigger("f", .written, "rooms/{room}")])
        try await fixture.set("rooms/a/users/v", "2")
        try await fixture.update("", #"{"rooms/a/users/u":null,"rooms/a/title":"s","rooms/b/x":1,"other":1}"#)
        #expect(
            try await fixture.take("f") == [
                #"/rooms/a {"title":"t","users":{"u":1}} -> {"title":"t","users":{"u":1,"v":2}}"#,
                #"/rooms/a {"title":"t","users":{"u":1,"v":2}} -> {"title":"s","users":{"v":2}}"#,
                #"/rooms/b nothing -> {"x":1}"#,
            ])
        try await fixture.close()
    }

    /// Only the nodes whose values differ, each once.
    @Test(.endsHangs) func aWriteAboveTheNodes() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("rooms", #"{"a":{"n":{"x":1}},"b":{"n":{"x":1}},"c":{"n":{"x":1}}}"#)
        fixture.route(to: [
            try RealtimeTrigger("any", .written, "rooms/{room}/n"),
            try RealtimeTrigger("one", .written, "rooms/b/n/x"),
        ])
        try await fixture.set("", #"{"rooms":{"a":{"n":{"x":1}},"b":{"n":{"x":2}},"d":{"n":{"x":1}}}}"#)
        #expect(
            try await fixture.take("any") == [
                #"/rooms/b/n {"x":1} -> {"x":2}"#, #"/rooms/c/n {"x":1} -> nothing"#,
                #"/rooms/d/n nothing -> {"x":1}"#,
            ])
        #expect(try await fixture.take("one") == ["/rooms/b/n/x 1 -> 2"])
        try await fixture.set("", "null")
        #expect(try await fixture.take("any").count == 3)
        #expect(try await fixture.take("one") == ["/rooms/b/n/x 2 -> nothing"])
        try await fixture.close()
    }

    @Test(.endsHangs) func aPriorityIsAPartOfTheValue() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [try RealtimeTrigger("f", .updated, "a")])
        try await fixture.set("a", "1")
        try await fixture.set("a/.priority", "2")
        #expect(try await fixture.take("f") == [#"/a 1 -> {".value":1,".priority":2}"#])
        try await fixture.close()
    }

    @Test(.endsHangs) func theRoot() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [try RealtimeTrigger("f", .written, "/")])
        try await fixture.set("a/b", "1")
        #expect(try await fixture.take("f") == [#"/ nothing -> {"a":{"b":1}}"#])
        try await fixture.close()
    }

    @Test(.endsHangs) func triggersAreOfSomeDatabases() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [
            try RealtimeTrigger("own", .written, "a", instance: "demo-*"),
            try RealtimeTrigger("other", .written, "a", instance: "other-*"),
        ])
        try await fixture.set("a", "1")
        #expect(try await fixture.take("own").count == 1)
        #expect(try await fixture.take("other") == [])
        try await fixture.close()
    }

    @Test(.endsHangs) func importsMayCallNoFunctions() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [try RealtimeTrigger("f", .written, "a")])
        let write = RealtimeWrite.set(try RealtimeTarget("a"), RealtimeWriteValue(RealtimeNode(1)))
        try await fixture.store.commit(
            RealtimeCommit([write], in: RealtimeFixture.namespace), in: OperationContext(firesEvents: false))
        #expect(try await fixture.take("f") == [])
        try await fixture.close()
    }

    @Test(.endsHangs) func aLargeValueCallsFunctionsToo() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("rooms", #"{"a":1,"b":2,"c":{"x":1}}"#)
        fixture.route(to: [
            try RealtimeTrigger("each", .written, "rooms/{room}"), try RealtimeTrigger("all", .written, "rooms"),
        ])
        let path = try RealtimePath("rooms")
        let value = try #require(try await fixture.staged(Array(#"{"a":1,"b":3,"d":{"y":1}}"#.utf8), at: path))
        try await fixture.commit(.set(RealtimeTarget(path), RealtimeWriteValue(value)))
        #expect(
            try await fixture.take("each") == [
                "/rooms/b 2 -> 3", #"/rooms/c {"x":1} -> nothing"#, #"/rooms/d nothing -> {"y":1}"#,
            ])
        #expect(
            try await fixture.take("all") == [#"/rooms {"a":1,"b":2,"c":{"x":1}} -> {"a":1,"b":3,"d":{"y":1}}"#])
        try await fixture.close()
    }

    // MARK: Limits

    @Test(.endsHangs) func aWriteThatWouldCallTooManyFunctionsIsRefused() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [try RealtimeTrigger("f", .written, "rooms/{room}")])
        func rooms(_ count: Int) throws -> RealtimeWrite {
            let json = "{" + (0..<count).map { "\"r\($0)\":\($0)" }.joined(separator: ",") + "}"
            let target = try RealtimeTarget("rooms")
            return .set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target))
        }
        let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.commit(try rooms(1_001)) }
        #expect(failure?.code == .triggerLimit)
        #expect(try await fixture.json() == "null")
        try await fixture.commit(try rooms(1_000))
        #expect(try await fixture.take("f").count == 1_000)
        var request = RealtimeCommit([try rooms(0), try rooms(2_500)], in: RealtimeFixture.namespace)
        request.triggerLimits = .lifted
        try await fixture.store.commit(request)
        #expect(try await fixture.take("f").count == 1_500)
        try await fixture.close()
    }

    /// However many children it has whose nodes didn't change.
    @Test(.endsHangs, arguments: [false, true]) func aNodeAmongManyIsFound(isStaged: Bool) async throws {
        let fixture = try RealtimeFixture()
        let messages = (0..<3_000).map { number in
            "\"m\(number)\":{\"t\":1\(1_500..<1_510 ~= number ? ",\"reaction\":1" : "")}"
        }
        try await fixture.set("rooms/a", "{\(messages.joined(separator: ","))}")
        fixture.route(to: [
            try RealtimeTrigger("f", .deleted, "rooms/{room}/{message}/reaction"),
            try RealtimeTrigger("g", .created, "rooms/{room}/{message}"),
        ])
        if isStaged {
            let path = try RealtimePath("rooms")
            let value = try #require(try await fixture.staged(Array(#"{"b":{"m":{"t":1}}}"#.utf8), at: path))
            try await fixture.commit(.set(RealtimeTarget(path), RealtimeWriteValue(value)))
        } else {
            try await fixture.set("rooms", "null")
        }
        #expect(try await fixture.take("f").count == 10)
        #expect(try await fixture.take("g") == (isStaged ? [#"/rooms/b/m nothing -> {"t":1}"#] : []))
        try await fixture.close()
    }

    /// What counts is the functions that are called, and not the nodes that their patterns match.
    @Test(.endsHangs) func onlyCallsCount() async throws {
        let fixture = try RealtimeFixture()
        let rooms = "{" + (0..<3_000).map { "\"r\($0)\":\($0)" }.joined(separator: ",") + "}"
        let path = try RealtimePath("rooms")
        try await fixture.set("rooms", rooms)
        fixture.route(to: [try RealtimeTrigger("f", .created, "rooms/{room}")])
        // Nothing is created, and nothing differs.
        try await fixture.set("rooms", "null")
        try await fixture.store.commit(
            RealtimeCommit([.set(RealtimeTarget(path), try value(rooms, at: path))], in: RealtimeFixture.namespace),
            in: OperationContext(firesEvents: false))
        let same = try #require(try await fixture.staged(Array(rooms.utf8), at: path))
        fixture.route(to: [try RealtimeTrigger("f", .written, "rooms/{room}")])
        try await fixture.commit(.set(RealtimeTarget(path), RealtimeWriteValue(same)))
        #expect(try await fixture.take("f") == [])
        try await fixture.close()
    }

    private func value(_ json: String, at path: RealtimePath) throws -> RealtimeWriteValue {
        try RealtimeWriteValue(parsing: Array(json.utf8), at: RealtimeTarget(path))
    }

    @Test(.endsHangs) func aWriteWithTooManyNodesToLookAtIsRefused() async throws {
        let fixture = try RealtimeFixture()
        let rooms = "{" + (0..<200).map { "\"r\($0)\":{\"t\":1}" }.joined(separator: ",") + "}"
        try await fixture.set("rooms", rooms)
        fixture.route(to: [try RealtimeTrigger("f", .written, "rooms/{room}/x/{y}")])
        func delete(maxNodes: Int) async throws {
            var request = RealtimeCommit(
                [.set(try RealtimeTarget("rooms"), RealtimeWriteValue(nil))], in: RealtimeFixture.namespace)
            request.triggerLimits.maxNodes = maxNodes
            try await fixture.store.commit(request)
        }
        try await fixture.set("other", "1")
        let refused = await #expect(throws: RealtimeFailure.self) { try await delete(maxNodes: 100) }
        #expect(refused?.code == .triggerLimit)
        try await delete(maxNodes: 1_000)
        #expect(try await fixture.take("f") == [])
        try await fixture.close()
    }

    @Test(.endsHangs) func aWriteWhoseEventWouldBeTooLargeIsRefused() async throws {
        let fixture = try RealtimeFixture()
        let text = String(repeating: "t", count: 600_000)
        try await fixture.set("a/x", "\"\(text)\"")
        fixture.route(to: [try RealtimeTrigger("f", .written, "a")])
        let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.set("a/y", "\"\(text)\"") }
        #expect(failure?.code == .triggerLimit)
        #expect(failure?.message.contains("/a") == true)
        try await fixture.set("a/y", "1")
        #expect(try await fixture.takeChanges(of: "f").count == 1)
        // A change that calls no function may have any size.
        try await fixture.set("b", "\"\(text)\(text)\"")
        try await fixture.close()
    }

    // MARK: Model

    /// Whatever is written, and however it is stored: each function is called for each node of its pattern that differs,
    /// and receives what was before and what is after.
    @Test(.endsHangs, arguments: [false, true])
    func eachFunctionIsCalledForWhatDiffers(looksAtLittle: Bool) async throws {
        try await FuzzRounds.run("triggers", count: 40) { _, seed in
            var configuration = RealtimeStoreConfiguration()
            if looksAtLittle { configuration.maxComparedRows = 3 }
            try await run(seed: seed, configuration)
        }
    }

    private static let patterns = ["/", "{a}", "users", "a/{b}", "{a}/{b}", "{a}/x/{c}", "{a}/b/*/{d}"]

    private func run(seed: UInt64, _ configuration: RealtimeStoreConfiguration) async throws {
        var random = RandomTree(generator: SeededGenerator(seed: seed))
        var tree = RealtimeTree()
        let fixture = try RealtimeFixture(configuration: configuration)
        fixture.route(to: try Self.patterns.map { try RealtimeTrigger($0, .written, $0) })
        for step in 1...40 {
            let write = try random.write(in: tree)
            let stored = random.generator.once(in: 4) ? try await fixture.staged(write, &random) : write
            let old = tree
            do {
                try await fixture.commit(stored)
            } catch let failure as RealtimeFailure where failure == .stale {
                continue
            }
            tree.apply(write, now: fixture.clock.timestamp().microseconds / 1_000)
            for pattern in Self.patterns {
                let segments = try ReferencePattern(pattern).segments
                let paths = Set(Self.paths(old.root, segments[...]) + Self.paths(tree.root, segments[...]))
                let expected = paths.filter { old[$0] != tree[$0] }.sorted()
                let place: Comment = "seed \(seed), step \(step), \(pattern)"
                let changes = try await fixture.takeChanges(of: pattern)
                #expect(changes.map(\.path) == expected.map(\.string), place)
                for (change, path) in zip(changes, expected) {
                    let states = try change.states
                    #expect(states.before == old[path], place)
                    #expect(states.after == tree[path], place)
                    #expect(change.existsAfter == (tree[path] != nil), place)
                }
            }
        }
        try await fixture.close()
    }

    /// The paths of nodes that match a pattern.
    private static func paths(
        _ node: RealtimeNode?, _ segments: ArraySlice<DocumentPattern.Segment>, at path: RealtimePath = .root
    ) -> [RealtimePath] {
        guard let node else { return [] }
        guard let segment = segments.first else { return [path] }
        return node.children.flatMap { child in
            if case .literal(let text) = segment, text != child.key.string { return [RealtimePath]() }
            return paths(child.node, segments.dropFirst(), at: path.child(child.key))
        }
    }
}
