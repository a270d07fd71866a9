/// Firestore's limits, each at its edge and one beyond.
enum OracleLimits {
    private typealias Words = OracleWords

    static var cases: [OracleCase] { names + fields + depths + sizes }

    private static func set(
        _ title: String, _ fields: [String: String], at path: String = "l/d", differs: String? = nil
    ) -> OracleCase {
        OracleCase(title, .commit(Words.set(path, fields)), differs: differs)
    }

    private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static var names: [OracleCase] {
        let names = [
            "l/.", "l/..", "l/__x__", "__l__/b", "l/__", "l/___", "l/__x", "l//b/c", "l/b/", "l/é", "l/ b",
            "l/" + repeated("x", 1500), "l/" + repeated("x", 1501), "l/" + repeated("é", 750),
            "l/" + repeated("é", 751), "l/b/c", "l/b/c/d",
            Array(repeating: repeated("s", 1400), count: 4).joined(separator: "/"),
            Array(repeating: repeated("s", 1500), count: 4).joined(separator: "/"),
            Array(repeating: "x", count: 100).joined(separator: "/"), "l/b\u{0}",
            "l/__id7__", "l/__id-9223372036854775808__", "l/__id07__", "l/__id0__", "l/__id+7__", "__id7__/b",
            "l/__id9223372036854775808__",
        ]
        let reserved = "production documents that ids don't match __.*__; the emulator has exceptions"
        var cases: [OracleCase] = names.map { name in
            set("name \(name.prefix(20)), \(name.utf8.count) bytes", [:], at: name)
        }
        cases.append(set("name l/____", [:], at: "l/____", differs: reserved))
        for count in [100, 101] {
            let path = Array(repeating: "l/d", count: count).joined(separator: "/")
            cases.append(set("\(count) collections", [:], at: path))
            cases.append(set("a reference through \(count) collections", ["f": Words.reference(path)]))
        }
        return cases
    }

    private static var fields: [OracleCase] {
        let one = Words.integer(1)
        let names = [
            "", "__x__", "__", "___", "__x", repeated("x", 1500), repeated("x", 1501), "a.b", "a`b", " ", "é", "\u{0}",
            "*", "a/b", "~", "[", "__type__", "__name__",
        ]
        let nested: [String] = [1497, 1498, 1499, 1500].map { repeated("y", $0) }
        var cases: [OracleCase] = []
        for name in names + nested {
            let title = "\(name.prefix(10)), \(name.utf8.count) bytes"
            cases.append(set("field \(title)", [name: one]))
            cases.append(set("field m.\(title)", ["m": Words.map([name: one])]))
        }
        for name in nested {
            let list = Words.array(Words.map([name: one]))
            cases.append(set("field m[].y, \(name.utf8.count) bytes", ["m": list]))
        }
        cases.append(
            set(
                "field ____", ["____": one],
                differs: "production documents that names don't match __.*__; the emulator has an exception"))
        return cases
    }

    private static var depths: [OracleCase] {
        func maps(_ count: Int, around value: String) -> String {
            (0..<count).reduce(value) { value, _ in Words.map(["m": value]) }
        }
        func lists(_ count: Int) -> String {
            (0..<count).reduce(Words.integer(1)) { value, index in
                index % 2 == 0 ? Words.array(value) : Words.map(["m": value])
            }
        }
        return (18...21).flatMap { (count: Int) -> [OracleCase] in
            [
                set("\(count) maps", ["f": maps(count, around: Words.integer(1))]),
                set("\(count) maps around an empty one", ["f": maps(count, around: Words.map([:]))]),
                set("\(count) maps around a list", ["f": maps(count, around: Words.array(Words.integer(1)))]),
                set("\(count) maps and lists", ["f": lists(count)]),
            ]
        }
    }

    /// A document of exactly 1 MiB, one byte less and one more, with a value of each kind in it.
    private static var sizes: [OracleCase] {
        let values: [(String, String, bytes: Int)] = [
            ("nothing else", "", 0), ("null", Words.null, 1), ("boolean", Words.boolean(true), 1),
            ("integer", Words.integer(1), 8), ("double", Words.double(1.5), 8), ("place", Words.place(1, 2), 16),
            ("time", Words.time("2020-01-01T00:00:00Z"), 8), ("reference", Words.reference("a/b"), 20),
            ("text", Words.text("é"), 3), ("bytes", Words.bytes("AAA="), 2), ("empty list", Words.array(), 1),
            ("empty map", Words.map([:]), 1), ("list", Words.array(Words.integer(1), Words.null), 9),
            ("map", Words.map(["xy": Words.text("z")]), 5),
            ("map in list", Words.array(Words.map(["x": Words.null])), 3),
            ("vector", Words.vector([1, 2]), 16),
        ]
        // l/d is 4 and 16 bytes, the document 32, the fields a and b 2 each and 1 more for the end of their texts.
        let room = 1_048_576 - 20 - 32 - 6
        var cases: [OracleCase] = []
        for (name, value, bytes) in values {
            for more in [0, 1] {
                let left: Int = room - (value.isEmpty ? 0 : 2 + bytes) + more
                var fields: [String: String] = [
                    "a": Words.text(repeated("x", 500_000)), "b": Words.text(repeated("x", left - 500_000)),
                ]
                if !value.isEmpty { fields["n"] = value }
                cases.append(set("1 MiB and \(more), with \(name)", fields))
            }
        }
        for count in [1_048_487, 1_048_488] {
            cases.append(set("a text of \(count) bytes", ["f": Words.text(repeated("x", count))]))
        }
        return cases
    }
}
