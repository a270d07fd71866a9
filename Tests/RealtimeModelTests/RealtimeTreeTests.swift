import RealtimeHashing
import RealtimeModel
import StrictJSON
import RealtimeTesting
import TestSupport
import Testing

/// What writes make of a tree.
struct RealtimeTreeTests {
    private func set(_ target: String, _ value: String, ifHash hash: String? = nil) throws -> RealtimeWrite {
        let target = try RealtimeTarget(target)
        return .set(target, try RealtimeWriteValue(parsing: Array(value.utf8), at: target), ifHash: hash)
    }

    @Test(arguments: [
        ("1", "a/b", "2", #"{"a":{"b":2}}"#), ("1", "a/b", "null", "1"), (#"{"a":{"b":1}}"#, "a/b", "null", "null"),
        (#"{"a":{"b":1},"c":2}"#, "a/b", "null", #"{"c":2}"#), (#"{"a":1}"#, "a/b", "2", #"{"a":{"b":2}}"#),
        (#"{"a":{".value":1,".priority":5}}"#, "a/b", "2", #"{"a":{"b":2,".priority":5}}"#),
        (#"{"a":{".value":1,".priority":5}}"#, "a", "2", #"{"a":2}"#),
        (#"{"a":{"x":1,".priority":5}}"#, "a/x", "2", #"{"a":{"x":2,".priority":5}}"#),
        (#"{"a":{"x":1,".priority":5}}"#, "a/x", "null", "null"),
        (#"{"a":1}"#, "a/.priority", "5", #"{"a":{".value":1,".priority":5}}"#),
        (#"{"a":{"x":1}}"#, "a/.priority", #""p""#, #"{"a":{"x":1,".priority":"p"}}"#),
        ("null", "a/.priority", "5", "null"),
        (#"{".value":1,".priority":5}"#, ".priority", "null", "1"), (#"{"a":1}"#, "", "null", "null"),
        ("1", "", #"{"a":1}"#, #"{"a":1}"#),
        (
            #"{"a":{".value":1,".priority":5}}"#, "a/.priority", #"{".sv":"timestamp"}"#,
            #"{"a":{".value":1,".priority":9}}"#
        ),
        (
            #"{"a":{".value":1,".priority":5}}"#, "a/.priority", #"{".sv":{"increment":2}}"#,
            #"{"a":{".value":1,".priority":7}}"#
        ),
    ])
    func setReplacesWhatExists(before: String, target: String, value: String, after: String) throws {
        var tree = RealtimeTree(try node(before))
        let old = tree
        tree.apply(try set(target, value), now: 9)
        #expect(text(tree.root) == after)
        #expect(text(old.root) == text(try node(before)))
    }

    @Test func anUpdateWritesAllItsPaths() throws {
        var tree = RealtimeTree(try node(#"{"a":{"n":1,"deep":{"x":true}},"t":{".value":1,".priority":2}}"#))
        let update = try RealtimeUpdate(
            parsing: Array(
                #"{"a/n":{".sv":{"increment":2}},"/a/deep/x":null,"o/z/":[2],"t/.priority":3,"a/m":{".sv":"timestamp"}}"#
                    .utf8), at: .root)
        let changes = tree.apply(.update(update), now: 7)
        #expect(text(tree.root) == #"{"a":{"m":7,"n":3},"o":{"z":{"0":2}},"t":{".value":1,".priority":3}}"#)
        #expect(changes?.map(\.target.string) == ["a/deep/x", "a/m", "a/n", "o/z", "t/.priority"])
        #expect(try RealtimeUpdate(parsing: Array("{}".utf8), at: .root).entries.isEmpty)
    }

    /// A priority sorts before some keys and after others.
    @Test(arguments: [
        ("null", #"{"5":true,"a":5,".priority":1,"-M":2}"#, #"{"5":true,"-M":2,"a":5,".priority":1}"#),
        ("null", #"{"a/b":5,"a/.priority":2,".priority":1}"#, #"{"a":{"b":5,".priority":2},".priority":1}"#),
        (#"{"x":1}"#, #"{"x":null,"y":2,".priority":1}"#, #"{"y":2,".priority":1}"#),
        (#"{"x":1}"#, #"{"x":null,".priority":1}"#, "null"),
    ])
    func anObjectThatAnUpdateMakesHasItsPriority(before: String, update: String, after: String) throws {
        var tree = RealtimeTree(try node(before))
        tree.apply(.update(try RealtimeUpdate(parsing: Array(update.utf8), at: .root)), now: 0)
        #expect(text(tree.root) == after)
    }

    @Test func anIncrementReadsTheTreeBeforeTheUpdate() throws {
        var tree = RealtimeTree(try node(#"{"a":1,"b":10}"#))
        let update = try RealtimeUpdate(
            parsing: Array(#"{"a":{".sv":{"increment":1}},"b":{".sv":{"increment":1}}}"#.utf8), at: .root)
        tree.apply(.update(update), now: 0)
        #expect(text(tree.root) == #"{"a":2,"b":11}"#)
    }

    @Test func aSetWithAStaleHashChangesNothing() throws {
        var tree = RealtimeTree(try node(#"{"a":{"b":1}}"#))
        let hash = try node(#"{"b":1}"#).hash
        #expect(tree.apply(try set("a", "2", ifHash: ""), now: 0) == nil)
        #expect(text(tree.root) == #"{"a":{"b":1}}"#)
        #expect(tree.apply(try set("a", "2", ifHash: hash), now: 0) != nil)
        #expect(tree.apply(try set("a", "3", ifHash: hash), now: 0) == nil)
        #expect(tree.apply(try set("new", "3", ifHash: ""), now: 0) != nil)
        #expect(text(tree.root) == #"{"a":2,"new":3}"#)
    }

    @Test func treesAgreeWithAFlatModel() async throws {
        try await FuzzRounds.run("trees", count: 200) { random, seed in
            var tree = RealtimeTree()
            var model = FlatModel()
            for step in 0..<30 {
                let target = RealtimeTarget(RandomValues.path(&random), isPriority: random.once(in: 6))
                let value =
                    random.once(in: 4)
                    ? "null" : target.isPriority ? RandomValues.priority(&random) : RandomValues.json(&random, depth: 2)
                let before = tree
                let textBefore = text(before.root)
                tree.apply(
                    .set(target, try RealtimeWriteValue(parsing: Array(value.utf8), at: target)), now: 0)
                model.set(try node(value), at: target)
                #expect(text(tree.root) == model.text, "seed \(seed), step \(step): \(target) = \(value)")
                #expect(text(before.root) == textBefore, "seed \(seed), step \(step)")
                #expect(try node(text(tree.root)) == tree.root, "seed \(seed), step \(step)")
            }
        }
    }

    @Test(arguments: [false, true]) func manyChildrenAreSetOneByOne(isShuffled: Bool) throws {
        let count = 20_000
        var random = SeededGenerator(seed: 5)
        let order = isShuffled ? (0..<count).shuffled(using: &random) : Array(0..<count)
        var root: RealtimeNode?
        for number in order {
            root.set(RealtimeNode(.number(RealtimeNumber(Int64(number)))), at: try path("list/k\(number)"))
        }
        let list = try #require(root?[try path("list")]?.children)
        #expect(list.count == count && Array(list.map(\.key)) == list.map(\.key).sorted())
        #expect(list.allSatisfy { "k\(text($0.node))" == $0.key.string })
        for number in order where number % 7 != 0 { root.set(nil, at: try path("list/k\(number)")) }
        let rest = try #require(root?[try path("list")]?.children)
        #expect(rest.count == (count + 6) / 7 && Array(rest.map(\.key)) == rest.map(\.key).sorted())
        for number in order { root.set(nil, at: try path("list/k\(number)")) }
        #expect(root == nil)
    }
}

/// A tree as its leaves and objects' priorities by path, each found by looking through all.
private struct FlatModel {
    private var leaves: [[String]: (leaf: RealtimeLeaf, priority: RealtimePriority?)] = [:]
    private var priorities: [[String]: RealtimePriority] = [:]

    mutating func set(_ node: RealtimeNode?, at target: RealtimeTarget) {
        let path = target.path.keys.map(\.string)
        if target.isPriority {
            let priority = node?.leaf.flatMap { RealtimePriority($0) }
            if let leaf = leaves[path]?.leaf { leaves[path] = (leaf, priority) } else { priorities[path] = priority }
            return prune()
        }
        leaves = leaves.filter { !$0.key.starts(with: path) }
        priorities = priorities.filter { !$0.key.starts(with: path) }
        if let node {
            for count in 0..<path.count {
                let above = Array(path.prefix(count))
                if let leaf = leaves.removeValue(forKey: above) { priorities[above] = leaf.priority }
            }
            add(node, at: path)
        }
        prune()
    }

    private mutating func add(_ node: RealtimeNode, at path: [String]) {
        if let leaf = node.leaf { return leaves[path] = (leaf, node.priority) }
        priorities[path] = node.priority
        for child in node.children { add(child.node, at: path + [child.key.string]) }
    }

    /// Only objects with leaves have priorities.
    private mutating func prune() {
        let paths = Array(leaves.keys)
        priorities = priorities.filter { entry in
            paths.contains { $0.count > entry.key.count && $0.starts(with: entry.key) }
        }
    }

    var text: String { text(at: []) }

    private func text(at path: [String]) -> String {
        if let leaf = leaves[path] { return RealtimeTesting.text(RealtimeNode(leaf.leaf, priority: leaf.priority)) }
        let names = Set(leaves.keys.filter { $0.count > path.count && $0.starts(with: path) }.map { $0[path.count] })
        if names.isEmpty { return "null" }
        var members = keys(Array(names)).sorted().map { "\"\($0.string)\":\(text(at: path + [$0.string]))" }
        if let priority = priorities[path] {
            members.append("\".priority\":\(RealtimeTesting.text(RealtimeNode(priority.leaf)))")
        }
        return "{\(members.joined(separator: ","))}"
    }
}
