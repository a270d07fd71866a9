import RealtimeModel
import RealtimeTesting
import TestSupport
import Testing

/// The changes between two versions of a tree.
struct RealtimeDifferenceTests {
    @Test(
        arguments: [
            ("1", "1", []), ("null", "null", []), ("1", "2", [" = 2"]), ("1", "null", [" = null"]),
            ("null", #"{"a":1}"#, [#" = {"a":1}"#]),
            (#"{"a":1,"b":2}"#, #"{"a":1,"b":3,"c":4}"#, ["b = 3", "c = 4"]),
            (#"{"a":1,"b":2}"#, #"{"b":2}"#, ["a = null"]),
            (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":1,"y":3}}"#, ["a/y = 3"]),
            (#"{"a":1}"#, #"{"a":{"b":1}}"#, [#"a = {"b":1}"#]),
            (#"{"a":{"x":1}}"#, #"{"a":{"y":1}}"#, [#"a = {"y":1}"#]),
            (#"{"a":1,".priority":1}"#, #"{"a":1,".priority":2}"#, [".priority = 2"]),
            (#"{"-M":1,"a":1,".priority":1}"#, #"{"-M":2,"a":2}"#, ["-M = 2", ".priority = null", "a = 2"]),
            (#"{"a":1,"b":1}"#, #"{"a":{".value":1,".priority":2},"b":1}"#, [#"a = {".value":1,".priority":2}"#]),
            (#"{"a":1,"b":2.0}"#, #"{"a":1.0,"b":2}"#, []),
        ] as [(String, String, [String])])
    func onlyWhatDiffersIsAChange(old: String, new: String, expected: [String]) throws {
        let changes = try node(old).changes(to: try node(new))
        #expect(changes.map { "\($0.target.string) = \(text($0.node))" } == expected)
    }

    @Test func changesInAnyOrderMakeTheNewTree() async throws {
        try await FuzzRounds.run("differences", count: 500) { random, seed in
            let old = try node(RandomValues.json(&random))
            var new = RealtimeTree(random.once(in: 5) ? try node(RandomValues.json(&random)) : old)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                new.apply(
                    RealtimeChange(
                        RealtimeTarget(RandomValues.path(&random)), try node(RandomValues.json(&random, depth: 1))))
            }
            let changes = old.changes(to: new.root)
            #expect(
                zip(changes, changes.dropFirst()).allSatisfy { $0.target < $1.target && !$0.target.contains($1.target) }
            )
            var tree = RealtimeTree(old)
            for change in changes.shuffled(using: &random) { tree.apply(change) }
            #expect(tree.root == new.root, "seed \(seed)")
            #expect(changes.isEmpty == (old == new.root), "seed \(seed)")
        }
    }

    @Test func versionsOfManyChildrenDifferByTheOneThatChanged() throws {
        var old: RealtimeNode?
        for number in 0..<10_000 { old.set(RealtimeNode(.string("v")), at: try path("list/k\(number)/x")) }
        for (changed, value) in [("k5000/x", "w"), ("k5000a", "new"), ("k0/x", nil), ("k9999/y", "w")]
            as [(String, String?)]
        {
            var new = old
            new.set(value.map { RealtimeNode(.string($0)) }, at: try path("list/" + changed))
            let changes = old.changes(to: new)
            #expect(changes.count == 1)
            #expect(changes.first?.target.path.string == "list/" + (value == nil ? "k0" : changed))
        }
    }
}
