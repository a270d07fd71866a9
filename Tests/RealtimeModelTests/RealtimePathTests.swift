import RealtimeModel
import RealtimeTesting
import Testing

struct RealtimePathTests {
    @Test(arguments: [
        ("", ""), ("/", ""), ("a/b", "a/b"), ("/a/b/", "a/b"), ("//a///b//", "a/b"), ("a%20b", "a%20b"),
        ("é/ 1", "é/ 1"),
    ])
    func slashesMayBeMissingOrRepeated(text: String, expected: String) throws {
        #expect(try RealtimePath(text).string == expected)
    }

    @Test(arguments: [("a%20b", "a b"), ("%D0%BA/%25", "к/%"), ("/a%2Bb+c", "a+b+c")])
    func urlsAreDecodedBySegment(text: String, expected: String) throws {
        #expect(try RealtimePath(percentEncoded: text).string == expected)
    }

    @Test(arguments: ["a.b", "a/b#", "$a", "a[0]", "a\nb", "a/.priority", ".value", "a%2Fb", "%zz", "%FF", "%"])
    func urlsWithoutKeysAreRefused(text: String) {
        let error = #expect(throws: RealtimeError.self) { try RealtimePath(percentEncoded: text) }
        #expect(error?.problem == .invalidPath(text))
        #expect(error?.restMessage(body: []) == "Invalid path: Invalid token in path")
    }

    @Test func aPathHasAtMost32Keys() throws {
        let longest = Array(repeating: "k", count: 32).joined(separator: "/")
        #expect(try RealtimePath(longest).depth == 32)
        #expect(throws: RealtimeError(.tooDeep)) { try RealtimePath(longest + "/k") }
        #expect(throws: RealtimeError.self) { try RealtimePath(longest).appending(RealtimePath("k")) }
        #expect(throws: RealtimeError.self) {
            try RealtimeUpdate(parsing: Array(#"{"a":1}"#.utf8), at: RealtimePath(longest))
        }
    }

    @Test func relationsFollowKeysNotText() throws {
        let (root, a, ab, aab) = (RealtimePath.root, try path("a"), try path("a/b"), try path("aa/b"))
        #expect(root.isAncestor(of: a) && a.isAncestor(of: ab) && !a.isAncestor(of: a) && !a.isAncestor(of: aab))
        #expect(a.contains(a) && a.contains(ab) && !ab.contains(a))
        #expect(ab.parent == a && root.parent == nil && a.child(RealtimeKey(unchecked: "b")) == ab)
        #expect(ab.relative(to: a)?.string == "b" && ab.relative(to: ab) == .root && ab.relative(to: aab) == nil)
        #expect(ab.commonAncestor(with: aab) == .root && ab.commonAncestor(with: a) == a)
        #expect(try a.appending(path("b")) == ab)
    }

    @Test func pathsAreOrderedAsATreeIsWalked() throws {
        let ordered = try ["", "9", "10", "10/z", "a", "a/1", "a/b", "a/b/c", "aa"].map { try path($0) }
        #expect(ordered.shuffled().sorted() == ordered)
    }

    @Test func aTargetMayBeAPriority() throws {
        let target = try RealtimeTarget("/a/b/.priority")
        #expect(target.isPriority && target.path.string == "a/b" && target.string == "a/b/.priority")
        #expect(try RealtimeTarget(percentEncoded: ".priority").string == ".priority")
        #expect(throws: RealtimeError.self) { try RealtimeTarget("a/.priority/b") }
        let (parent, value) = (RealtimeTarget(try path("a")), RealtimeTarget(try path("a/b")))
        #expect(parent.contains(target) && value.contains(target) && !target.contains(value))
        let ordered = try ["a", "a/1", "a/-M", "a/.priority", "a/b", "a/b/.priority", "b"].map {
            try RealtimeTarget($0)
        }
        #expect(ordered.shuffled().sorted() == ordered)
    }
}
