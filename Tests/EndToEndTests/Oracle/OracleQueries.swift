/// Queries of every form over a few documents, and invalid ones.
enum OracleQueries {
    private typealias Words = OracleWords

    private static func int(_ value: Int64) -> String { Words.integer(value) }
    private static func ints(_ values: some Sequence<Int>) -> String { Words.array(values.map { int(Int64($0)) }) }
    private static func x(_ operation: String, _ value: String) -> String { Words.filter("x", operation, value) }
    private static func y(_ operation: String, _ value: String) -> String { Words.filter("y", operation, value) }
    private static func z(_ operation: String, _ value: String) -> String { Words.filter("z", operation, value) }
    private static func name(_ operation: String, _ value: String) -> String {
        Words.filter("__name__", operation, value)
    }

    private static let byName = Words.by("__name__")

    static var cases: [OracleCase] {
        [documents, below] + inequalities + negations + memberships + combinations + shapes + cursors + groups + names
            + refusals + many + quoted
    }

    private static let documents = OracleCase(
        "the documents",
        .commit(
            Words.set("q/a", ["x": int(1), "y": int(9), "z": ints([1, 2])]),
            Words.set("q/b", ["x": int(2), "y": int(8), "z": ints([2])]),
            Words.set("q/c", ["x": int(3), "y": Words.null, "z": Words.array()]),
            Words.set("q/d", ["x": int(3), "y": int(7)]), Words.set("q/e", ["y": int(1)]),
            Words.set(
                "q/f",
                [
                    "x": Words.text("s"), "y": Words.double(2.5),
                    "m": Words.map(["k": int(1), "l": Words.map(["q": Words.text("z")])]),
                ]),
            Words.set("q/g", ["x": Words.double(.nan), "y": int(0)]), Words.set("q/h", [:])))

    private static let below = OracleCase(
        "the documents below",
        .commit(
            Words.set("q/a/q/s1", ["x": int(5)]), Words.set("p/q/q/s2", ["x": int(6)]),
            Words.set("p/q/r/s/q/s3", ["x": int(7)]), Words.set("q2/o", ["x": int(1)])))

    private static func ask(
        _ title: String, _ filter: String? = nil, order: [String] = [], extra: String = "",
        differs difference: String? = nil
    ) -> OracleCase {
        OracleCase(
            title, .query(Words.query("q", where: filter, order: order, extra: extra)), differs: difference)
    }

    private static var inequalities: [OracleCase] {
        let up = x("GREATER_THAN", int(0))
        let both = Words.all(y("GREATER_THAN", int(0)), up)
        return [
            ask("all"), ask("NaN is not less", x("LESS_THAN", int(3))),
            ask("less, by another", x("LESS_THAN", int(4)), order: [Words.by("y")]),
            ask("less, by another down", x("LESS_THAN", int(4)), order: [Words.by("y", descending: true)]),
            ask("two fields: implicit orders", both),
            ask("two fields, one order down", both, order: [Words.by("y", descending: true)]),
            ask("range", Words.all(x("GREATER_THAN", int(1)), x("LESS_THAN", int(3)))),
            ask("nothing between", Words.all(x("GREATER_THAN", int(3)), x("LESS_THAN", int(1)))),
            ask("two classes", Words.all(up, x("LESS_THAN", Words.text("z")))),
            ask("or of ranges", Words.any(x("LESS_THAN", int(2)), y("LESS_THAN", int(2)))),
            ask("inequality behind a name's order", up, order: [byName]),
            ask("two, behind a name's order", both, order: [Words.by("__name__", descending: true)]),
        ]
    }

    private static var quoted: [OracleCase] {
        let fields = Words.all(Words.filter("`n-o`", "GREATER_THAN", int(0)), Words.filter("n", "GREATER_THAN", int(0)))
        return [
            OracleCase(
                "documents with a name that is quoted",
                .commit(
                    Words.set("q3/a", ["n": int(2), "n-o": int(1)]), Words.set("q3/b", ["n": int(1), "n-o": int(2)]))),
            OracleCase("two fields, one quoted: implicit orders", .query(Words.query("q3", where: fields))),
        ]
    }

    private static var negations: [OracleCase] {
        let not1 = x("NOT_EQUAL", int(1))
        let none1 = x("NOT_IN", ints([1]))
        return [
            ask("!=, by another", not1, order: [Words.by("y")]),
            ask("two !=", Words.all(not1, y("NOT_EQUAL", int(9)))),
            ask("two != of one field", Words.all(not1, x("NOT_EQUAL", int(2)))),
            ask("!= or !=", Words.any(not1, y("NOT_EQUAL", int(9)))),
            ask("!= and not-in", Words.all(not1, y("NOT_IN", ints([9])))),
            ask("two not-in", Words.all(none1, y("NOT_IN", ints([9])))),
            ask("not-in or", Words.any(none1, y("EQUAL", int(9)))),
            ask("not-in and in", Words.all(none1, y("IN", ints([8, 7])))),
            ask("not-in and array-contains-any", Words.all(none1, z("ARRAY_CONTAINS_ANY", ints([2])))),
            ask("!= and in", Words.all(not1, y("IN", ints([8, 7])))),
            ask("two not null", Words.all(Words.unary("x", "IS_NOT_NULL"), Words.unary("y", "IS_NOT_NULL"))),
            ask("not NaN and !=", Words.all(Words.unary("x", "IS_NOT_NAN"), y("NOT_EQUAL", int(1)))),
            ask("not null and != of one field", Words.all(Words.unary("x", "IS_NOT_NULL"), not1)),
            ask("not-in of 10", x("NOT_IN", ints(0..<10))), ask("not-in of 11", x("NOT_IN", ints(0..<11))),
            ask("not-in of none", x("NOT_IN", Words.array())),
        ]
    }

    private static var memberships: [OracleCase] {
        let has1 = z("ARRAY_CONTAINS", int(1))
        return [
            ask("two array-contains", Words.all(has1, z("ARRAY_CONTAINS", int(2)))),
            ask("two array-contains of two", Words.all(has1, x("ARRAY_CONTAINS", int(2)))),
            ask("array-contains and -any", Words.all(has1, z("ARRAY_CONTAINS_ANY", ints([2, 3])))),
            ask(
                "two array-contains-any",
                Words.all(z("ARRAY_CONTAINS_ANY", ints([1, 5])), z("ARRAY_CONTAINS_ANY", ints([2, 3])))),
            ask("array-contains or", Words.any(has1, z("ARRAY_CONTAINS", int(2)))),
            ask(
                "array-contains and an or with one",
                Words.all(has1, Words.any(z("ARRAY_CONTAINS", int(2)), x("EQUAL", int(1))))),
            ask("array-contains, by another", has1, order: [Words.by("x", descending: true)]),
            ask("array-contains-any of none", z("ARRAY_CONTAINS_ANY", Words.array())),
            ask("in none", x("IN", Words.array())), ask("in no list", x("IN", int(1))),
            ask("in 30", x("IN", ints(0..<30))), ask("in 31", x("IN", ints(0..<31))),
            ask("in one value three times", x("IN", Words.array(int(1), Words.double(1), int(1)))),
            ask("in lists", z("IN", Words.array(ints([2]), Words.array()))),
            ask("in 6 times 5", Words.all(x("IN", ints(0..<6)), y("IN", ints(0..<5)))),
            ask("in 6 times 6", Words.all(x("IN", ints(0..<6)), y("IN", ints(0..<6)))),
            ask("in and less", Words.all(x("IN", ints([1, 3])), y("LESS_THAN", int(9)))),
            ask("in, by another", x("IN", ints([1, 2, 3])), order: [Words.by("y")]),
            ask("in, by itself down", x("IN", ints([3, 1])), order: [Words.by("x", descending: true)]),
        ]
    }

    private static var combinations: [OracleCase] {
        let or = Words.any(x("EQUAL", int(1)), y("EQUAL", int(1)))
        let equal = x("EQUAL", int(1))
        return [
            ask("or", or), ask("or, ordered", or, order: [Words.by("x")]), ask("and of one", Words.all([equal])),
            ask("or of one", Words.any([equal])), ask("two equal", Words.all(equal, x("EQUAL", int(2)))),
            ask("null and equal", Words.all(x("EQUAL", int(3)), Words.unary("y", "IS_NULL"))),
            ask("null, ordered", Words.unary("y", "IS_NULL"), order: [Words.by("x")]),
            ask("NaN, ordered", Words.unary("x", "IS_NAN"), order: [Words.by("y")]),
            ask("inside a map", Words.filter("m.k", "EQUAL", int(1))),
            ask("deep inside", Words.filter("m.l.q", "GREATER_THAN_OR_EQUAL", Words.text(""))),
            ask("by what is deep inside", order: [Words.by("m.l.q")]),
            ask("equal, by itself down", x("EQUAL", int(3)), order: [Words.by("x", descending: true)]),
            ask("equal, by another down", x("EQUAL", int(3)), order: [Words.by("y", descending: true)]),
            ask("100 filters", Words.all(Array(repeating: equal, count: 100))),
            ask(
                "101 filters", Words.all(Array(repeating: equal, count: 101)),
                differs: "production documents 100 as the limit; the emulator has none"),
            ask("and of none", Words.all([]), differs: "production documents that a composite filter has one at least"),
            ask("or of none", Words.any([String]())),
        ]
    }

    private static var shapes: [OracleCase] {
        let emptySelection = "production documents that an empty selection is all fields; the emulator answers none"
        func select(_ fields: String...) -> String {
            #""select":{"fields":[\#(fields.map { #"{"fieldPath":"\#($0)"}"# }.joined(separator: ","))]}"#
        }
        return [
            ask("limit 0", extra: #""limit":0"#), ask("limit -1", extra: #""limit":-1"#),
            ask("limit 2", extra: #""limit":2"#),
            ask("offset 2", extra: #""offset":2"#), ask("offset -1", extra: #""offset":-1"#),
            ask("offset and limit", order: [Words.by("y")], extra: #""offset":1,"limit":2"#),
            ask("select one", extra: select("x")), ask("select inside", extra: select("m.k", "m.l")),
            ask("select the name", extra: select("__name__")), ask("select twice", extra: select("x", "x")),
            ask("select what overlaps", extra: select("m", "m.k")),
            ask("select none", extra: select(), differs: emptySelection),
            ask("select nothing", extra: #""select":{}"#, differs: emptySelection),
            ask("no direction", extra: #""orderBy":[{"field":{"fieldPath":"x"}}]"#),
            ask("by one field twice", order: [Words.by("x"), Words.by("x", descending: true)]),
            ask("by the name, then another", order: [byName, Words.by("y")]),
            ask(
                "by the name down", order: [Words.by("__name__", descending: true)],
                differs: "the emulator wants an index for it; we don't need one"),
            ask("by two", order: [Words.by("x", descending: true), Words.by("y")]),
        ]
    }

    /// Filters and orders, and the document above, at the bound that they have together and beyond.
    private static var many: [OracleCase] {
        [(0, 100, ""), (0, 101, ""), (60, 40, ""), (60, 41, ""), (0, 99, "/q/a"), (0, 100, "/q/a")].map {
            (filters: Int, orders: Int, parent: String) -> OracleCase in
            let parts = (0..<filters).map { Words.filter("f\($0)", "EQUAL", int(1)) }
            let query = Words.query(
                "q", where: parts.isEmpty ? nil : Words.all(parts), order: (0..<orders).map { Words.by("o\($0)") })
            return OracleCase("\(filters) filters, \(orders) orders, below \(parent)/", .query(query, below: parent))
        }
    }

    private static var cursors: [OracleCase] {
        let b = Words.reference("q/b")
        let byX = [Words.by("x")]
        let other = #"{"referenceValue":"projects/other/databases/(default)/documents/q/b"}"#
        return [
            ask("from a name", order: [byName], extra: Words.start([b], before: true)),
            ask("after a name", order: [byName], extra: Words.start([b], before: false)),
            ask("from a name without order", extra: Words.start([b], before: true)),
            ask("from an id", order: [byName], extra: Words.start([Words.text("b")], before: true)),
            ask("from a name elsewhere", order: [byName], extra: Words.start([Words.reference("r/b")], before: true)),
            ask("from a name below", order: [byName], extra: Words.start([Words.reference("q/a/q/b")], before: true)),
            ask("from another database", order: [byName], extra: Words.start([other], before: true)),
            ask("from a number for a name", order: [byName], extra: Words.start([int(1)], before: true)),
            ask("two values, one order", order: byX, extra: Words.start([int(1), b], before: false)),
            ask("two values, two orders", order: byX + [byName], extra: Words.start([int(3), b], before: false)),
            ask("no value", order: byX, extra: Words.start([], before: false)),
            ask("an empty cursor", order: byX, extra: #""startAt":{}"#),
            ask(
                "between", order: [Words.by("x"), Words.by("y", descending: true)],
                extra: Words.start([int(3), int(7)], before: true) + "," + Words.end([int(3)], before: false)),
            ask("after null", order: [Words.by("y")], extra: Words.start([Words.null], before: false)),
            ask(
                "end before start", order: byX,
                extra: Words.start([int(3)], before: true) + "," + Words.end([int(1)], before: false)),
            ask("beside an inequality", x("GREATER_THAN", int(1)), extra: Words.start([int(3)], before: true)),
            ask(
                "beside an inequality, down", x("GREATER_THAN", int(1)), order: [Words.by("x", descending: true)],
                extra: Words.start([int(2)], before: true)),
            ask("end before", order: byX, extra: Words.end([int(3)], before: true)),
            ask("end at", order: byX, extra: Words.end([int(3)], before: false)),
        ]
    }

    private static var groups: [OracleCase] {
        func group(_ title: String, _ filter: String? = nil, order: [String] = [], below: String = "") -> OracleCase {
            OracleCase(title, .query(Words.query("q", group: true, where: filter, order: order), below: below))
        }
        return [
            group("a group"), group("a group's range", x("GREATER_THAN", int(1))),
            group("a group below", below: "/p/q"), group("a group below one of its own", below: "/q/a"),
            group("a group from a place", name("GREATER_THAN_OR_EQUAL", Words.reference("p/q"))),
            group("a group from a document", name("GREATER_THAN_OR_EQUAL", Words.reference("p/q/q/a"))),
            group("a group by the name", order: [byName]),
            group("a group from a text", name("GREATER_THAN_OR_EQUAL", Words.text("p/q"))),
            OracleCase("a collection below", .query(Words.query("q"), below: "/q/a")),
            OracleCase("below a collection", .query(Words.query("q"), below: "/q")),
        ]
    }

    private static var names: [OracleCase] {
        let b = Words.reference("q/b")
        let a = Words.reference("q/a")
        let other = #"{"referenceValue":"projects/other/databases/(default)/documents/q/b"}"#
        return [
            ask("name", name("EQUAL", b)),
            ask("names", name("IN", Words.array(b, Words.reference("q/zz"), a))),
            ask("not a name", name("NOT_EQUAL", b)), ask("not names", name("NOT_IN", Words.array(b))),
            ask("after a name's filter", name("GREATER_THAN", b)),
            ask("up to a name", name("LESS_THAN_OR_EQUAL", b)),
            ask("name and value", Words.all(name("EQUAL", b), x("EQUAL", int(2)))),
            ask("name and another value", Words.all(name("EQUAL", b), x("EQUAL", int(3)))),
            ask("name and range", Words.all(name("GREATER_THAN", a), x("GREATER_THAN", int(1)))),
            ask(
                "name and another's range", Words.all(name("EQUAL", b), x("GREATER_THAN", int(1))),
                differs: "the emulator's planner takes no equal name beside an inequality of another field"),
            ask("name's range, by another", name("GREATER_THAN", a), order: [Words.by("x")]),
            ask("a name elsewhere", name("EQUAL", Words.reference("r/b"))),
            ask("a name below", name("EQUAL", Words.reference("q/a/q/s1"))),
            ask("a name of another database", name("EQUAL", other)),
            ask("an id", name("EQUAL", Words.text("b"))), ask("a number for a name", name("EQUAL", int(1))),
            ask("null for a name", name("EQUAL", Words.null)),
            ask("a name is null", Words.unary("__name__", "IS_NULL")),
            ask("a name is NaN", Words.unary("__name__", "IS_NAN")),
            ask("a name contains", name("ARRAY_CONTAINS", b)),
        ]
    }

    private static var refusals: [OracleCase] {
        let fields = ["__x__", "", "a..b", "a`b", "0a", "a-b", "`a-b`", "`a", "__name__.x", "é", "`é`", ".a", "a."]
        let collections = ["q/a/q", "__q__", "."]
        let deep = Array(repeating: "x", count: 20).joined(separator: ".")
        let paths = [deep, deep + ".x.x", String(repeating: "x", count: 1501)]
        let operands = [
            Words.map(["__x__": int(1)]), Words.array(Words.map(["__x__": int(1)])),
            Words.map(["__type__": Words.text("__vector__"), "value": Words.array()]),
            Words.map(["__type__": Words.text("__vector__"), "value": Words.array(Words.text("a"))]),
        ]
        var cases: [OracleCase] = []
        for field in fields {
            cases.append(ask("field \(field)", Words.filter(field, "EQUAL", int(1))))
            cases.append(ask("by field \(field)", order: [Words.by(field)]))
        }
        for path in paths {
            let title = "\(path.prefix(3)), \(path.utf8.count) bytes"
            cases.append(ask("field \(title)", Words.filter(path, "EQUAL", int(1))))
            cases.append(ask("by field \(title)", order: [Words.by(path)]))
            cases.append(ask("only \(title)", extra: #""select":{"fields":[{"fieldPath":"\#(path)"}]}"#))
        }
        for operand in operands { cases.append(ask("operand \(operand)", x("EQUAL", operand))) }
        for collection in collections {
            cases.append(OracleCase("collection \(collection)", .query(Words.query(collection))))
        }
        return cases + [
            ask("no operator", x("OPERATOR_UNSPECIFIED", int(1))), ask("unknown operator", x("LIKE", int(1))),
            ask("unknown test", Words.unary("x", "OPERATOR_UNSPECIFIED")),
            ask("unknown direction", extra: #""orderBy":[{"field":{"fieldPath":"x"},"direction":"UP"}]"#),
            ask("no value to compare", #"{"fieldFilter":{"field":{"fieldPath":"x"},"op":"EQUAL"}}"#),
            ask("no op", #"{"compositeFilter":{"filters":[\#(x("EQUAL", int(1)))]}}"#),
            ask("unknown key", extra: #""foo":1"#),
            OracleCase("two collections", .query(#"{"from":[{"collectionId":"q"},{"collectionId":"q2"}]}"#)),
            OracleCase(
                "no collection", .query("{}"),
                differs: "a query over all collections is refused; the emulator answers it"),
        ]
    }
}
