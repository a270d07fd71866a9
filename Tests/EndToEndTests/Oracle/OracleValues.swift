/// Values of every class and at every edge of it, one document each, and what is asked about each.
enum OracleValues {
    private typealias Words = OracleWords

    /// By the id of their document.
    static let all: [(id: String, value: String)] =
        numbers + times + texts + [
            ("null", Words.null), ("false", Words.boolean(false)), ("true", Words.boolean(true)),
            ("bytesNone", Words.bytes("")), ("bytes0", Words.bytes("AA==")), ("bytes00", Words.bytes("AAA=")),
            ("bytes7f", Words.bytes("fw==")), ("bytesff", Words.bytes("/w==")),
            ("ref", Words.reference("a/b")), ("refDeep", Words.reference("a/b/c/d")),
            ("refLonger", Words.reference("a/ba")), ("refMark", Words.reference("a!/b")),
            ("refProject", #"{"referenceValue":"projects/other/databases/(default)/documents/a/b"}"#),
            ("refDatabase", #"{"referenceValue":"projects/demo-shop/databases/zz/documents/a/b"}"#),
            ("place0", Words.place(0, 0)), ("placeSouth", Words.place(-90, 180)),
            ("placeWest", Words.place(-90, -180)), ("place", Words.place(10.5, -3)),
            ("listNone", Words.array()), ("list1", Words.array(Words.integer(1))),
            ("list1d", Words.array(Words.double(1))), ("list12", Words.array(Words.integer(1), Words.integer(2))),
            ("list2", Words.array(Words.integer(2))), ("listText", Words.array(Words.text("x"))),
            ("listMap", Words.array(Words.map(["a": Words.integer(1)]))), ("listNull", Words.array(Words.null)),
            ("listNaN", Words.array(Words.double(.nan))),
            ("vector12", Words.vector([1, 2])), ("vector3", Words.vector([3])), ("vector13", Words.vector([1, 3])),
            ("vectorMinus", Words.vector([-1, -1, -1])),
            ("mapNone", Words.map([:])), ("mapA", Words.map(["a": Words.integer(1)])),
            ("mapAB", Words.map(["a": Words.integer(1), "b": Words.integer(2)])),
            ("mapA2", Words.map(["a": Words.integer(2)])), ("mapB", Words.map(["b": Words.integer(0)])),
            ("mapAA", Words.map(["aa": Words.integer(0)])), ("mapUpper", Words.map(["A": Words.integer(9)])),
            (
                "mapDeep",
                Words.map(["a": Words.map(["b": Words.array(Words.map(["c": Words.integer(1)]))])])
            ),
        ]

    private static let numbers: [(String, String)] = [
        ("nan", Words.double(.nan)), ("minusInfinity", Words.double(-.infinity)),
        ("minusGreatest", Words.double(-.greatestFiniteMagnitude)), ("intMin", Words.integer(.min)),
        ("intMinD", Words.double(-0x1p63)), ("minus1", Words.integer(-1)), ("minus1d", Words.double(-1)),
        ("minus0", Words.double(-0.0)), ("zero", Words.integer(0)), ("zeroD", Words.double(0)),
        ("tiny", Words.double(.leastNonzeroMagnitude)), ("one", Words.integer(1)), ("oneD", Words.double(1)),
        ("oneHalf", Words.double(1.5)), ("two", Words.integer(2)), ("p53", Words.integer(1 << 53)),
        ("p53d", Words.double(0x1p53)), ("p53and1", Words.integer(1 << 53 + 1)), ("intMax", Words.integer(.max)),
        ("p63d", Words.double(0x1p63)), ("infinity", Words.double(.infinity)),
    ]

    private static let times: [(String, String)] = [
        ("timeMin", Words.time("0001-01-01T00:00:00Z")), ("time0", Words.time("1970-01-01T00:00:00Z")),
        ("timeCut", Words.time("2020-01-02T03:04:05.123456789Z")),
        ("timeMicro", Words.time("2020-01-02T03:04:05.123456Z")),
        ("timeOffset", Words.time("2020-01-02T05:04:05.5+02:00")),
        ("timeMax", Words.time("9999-12-31T23:59:59.999999Z")),
    ]

    /// UTF-16 would sort U+1F600 before U+E000, and folding would take two spellings of é for one.
    private static let texts: [(String, String)] = [
        ("textNone", ""), ("textUpper", "A"), ("text", "a"), ("textLonger", "aa"), ("textZero", "a\u{0}"),
        ("textZeroOne", "a\u{0}\u{1}"), ("textAcute", "\u{e9}"), ("textCombined", "e\u{301}"),
        ("textPrivate", "\u{e000}"), ("textLast", "\u{ffff}"), ("textSmile", "\u{1f600}"),
    ].map { ($0.0, Words.text($0.1)) }

    static let comparisons = [
        "EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL",
    ]

    /// Which documents are found is enough to know: what they hold was compared when they were sorted.
    private static let names = #""select":{"fields":[{"fieldPath":"__name__"}]}"#

    /// Every value stored and read, then every operator on every value, and both ends of a sorted walk from each.
    static var cases: [OracleCase] {
        let stored = all.map { example in
            OracleCase("store \(example.id)", .commit(Words.set("v/\(example.id)", ["v": example.value])))
        }
        let read = [
            OracleCase("sorted", .query(Words.query("v", order: [Words.by("v")]))),
            OracleCase("sorted down", .query(Words.query("v", order: [Words.by("v", descending: true)]))),
        ]
        let tests = ["IS_NULL", "IS_NOT_NULL", "IS_NAN", "IS_NOT_NAN"].map { test in
            OracleCase(test, .query(Words.query("v", where: Words.unary("v", test), extra: names)))
        }
        return stored + read + tests + all.flatMap { cases(of: $0.id, $0.value) }
    }

    private static func cases(of id: String, _ value: String) -> [OracleCase] {
        func find(_ operation: String, _ operand: String, differs: String? = nil) -> OracleCase {
            OracleCase(
                "\(operation) \(id)",
                .query(Words.query("v", where: Words.filter("v", operation, operand), extra: names)),
                differs: differs)
        }
        let isNaN = id == "nan"
        let notNaN = isNaN ? "NaN is not NaN to the emulator; the SDKs and IS_NOT_NAN have it the other way" : nil
        let two = Words.integer(2)
        return comparisons.map { find($0, value, differs: $0 == "NOT_EQUAL" ? notNaN : nil) } + [
            find("IN", Words.array(value, two)),
            find("NOT_IN", Words.array(value, two), differs: notNaN),
            find("ARRAY_CONTAINS", value), find("ARRAY_CONTAINS_ANY", Words.array(value, two)),
            OracleCase(
                "from \(id)",
                .query(
                    Words.query("v", order: [Words.by("v")], extra: names + "," + Words.start([value], before: true)))),
            OracleCase(
                "down to \(id)",
                .query(
                    Words.query(
                        "v", order: [Words.by("v", descending: true)],
                        extra: names + "," + Words.end([value], before: false)))),
        ]
    }
}
