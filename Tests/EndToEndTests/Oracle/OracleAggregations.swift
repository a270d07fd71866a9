/// Counts, sums and averages, and reads in transactions and in the past.
enum OracleAggregations {
    private typealias Words = OracleWords

    private static func int(_ value: Int64) -> String { Words.integer(value) }

    private static let collections: [String: [String]] = [
        "mixed": [
            int(1), int(2), Words.double(1.5), Words.text("s"), Words.null, Words.array(int(1)), Words.boolean(true),
        ],
        "beyond": [int(.max), int(1)], "back": [int(.max), int(1), int(-1)], "below": [int(.min), int(.min)],
        "nan": [int(1), Words.double(.nan)], "infinite": [Words.double(.infinity), Words.double(-.infinity)],
        "minus0": [Words.double(-0.0)], "doubles": [Words.double(1), Words.double(2)],
        "exact": [int(1 << 53 + 1), int(1 << 53 + 2)], "texts": [Words.text("x")],
    ]

    private static let count = #"{"count":{}}"#
    private static func count(_ upTo: String) -> String { #"{"count":{"upTo":\#(upTo)}}"# }
    private static func sum(_ field: String) -> String { #"{"sum":{"field":{"fieldPath":"\#(field)"}}}"# }
    private static func average(_ field: String, alias: String = "") -> String {
        #"{"avg":{"field":{"fieldPath":"\#(field)"}},"alias":"\#(alias)"}"#
    }

    static var cases: [OracleCase] { documents + numbers + shapes + refusals + consistency }

    private static var documents: [OracleCase] {
        collections.sorted { $0.key < $1.key }.map { name, values in
            var example = OracleCase("documents of \(name)")
            for (index, value) in values.enumerated() {
                example.requests.append(
                    .commit(Words.set("\(name)/d\(index)", ["x": value, "m": Words.map(["x": value])])))
            }
            return example
        } + [OracleCase("a document without", .commit(Words.set("mixed/none", ["y": int(1)])))]
    }

    private static var numbers: [OracleCase] {
        (collections.keys.sorted() + ["nowhere"]).flatMap { name in
            [
                OracleCase("all of \(name)", .aggregate(Words.query(name), count, sum("x"), average("x"))),
                OracleCase("count of \(name)", .aggregate(Words.query(name), count)),
                OracleCase("inside of \(name)", .aggregate(Words.query(name), sum("m.x"), average("m.x", alias: "q"))),
            ]
        }
    }

    private static func ask(
        _ title: String, _ query: String = Words.query("mixed"), _ fields: String..., differs: String? = nil
    ) -> OracleCase {
        var request = OracleRequest.aggregate(query)
        request.body = #"{"structuredAggregationQuery":{"structuredQuery":\#(query),"#
        request.body += #""aggregations":[\#(fields.joined(separator: ","))]}}"#
        return OracleCase(title, request, differs: differs)
    }

    private static var shapes: [OracleCase] {
        let greater = Words.filter("x", "GREATER_THAN", int(1))
        return [
            ask("up to 2", Words.query("mixed"), count(#""2""#), sum("x")),
            ask("up to 0", Words.query("mixed"), count("0")),
            ask("up to many", Words.query("mixed"), count(#""99999999999""#)),
            ask(
                "limit", Words.query("mixed", extra: #""limit":2"#), count, sum("x"),
                differs: "without an order the emulator walks the summed field; a query's own order is by name"),
            ask("offset", Words.query("mixed", extra: #""offset":2"#), count),
            ask("order and limit", Words.query("mixed", order: [Words.by("x")], extra: #""limit":3"#), count, sum("x")),
            ask("filter", Words.query("mixed", where: greater), count, sum("x"), average("x")),
            ask("or", Words.query("mixed", where: Words.any(greater, Words.unary("x", "IS_NULL"))), count, sum("x")),
            ask("group", Words.query("mixed", group: true), count),
            ask("another field than the filter's", Words.query("mixed", where: greater), sum("y"), average("y"), count),
            ask("only documents with both", Words.query("mixed"), count, sum("x"), sum("y")),
            ask("ordered by another", Words.query("mixed", order: [Words.by("y")]), count, sum("x")),
            ask(
                "from a place",
                Words.query("mixed", order: [Words.by("x")], extra: Words.start([int(2)], before: true)),
                count, sum("x")),
            ask("selected", Words.query("mixed", extra: #""select":{"fields":[{"fieldPath":"y"}]}"#), count),
            ask("the same twice", Words.query("mixed"), count, count),
            ask(
                "own names", Words.query("mixed"), #"{"count":{},"alias":"z"}"#, sum("x"),
                average("x", alias: "b")),
        ]
    }

    private static var refusals: [OracleCase] {
        [
            ask("none"), ask("up to -1", Words.query("mixed"), count("-1")),
            ask(
                "six", Words.query("mixed"), count, sum("a"), sum("b"), sum("c"), sum("d"), sum("e"),
                differs: "the emulator fails of itself; production documents 5 as the limit"),
            ask("one name twice", Words.query("mixed"), #"{"count":{},"alias":"a"}"#, average("x", alias: "a")),
            ask("a name that is given by itself", Words.query("mixed"), count, average("x", alias: "field_1")),
            ask("a reserved name", Words.query("mixed"), #"{"count":{},"alias":"__a__"}"#),
            ask("sum of names", Words.query("mixed"), sum("__name__")),
            ask("bad field", Words.query("mixed"), sum("a-b")),
            ask("no field", Words.query("mixed"), #"{"sum":{}}"#), ask("nothing", Words.query("mixed"), "{}"),
            ask("two at once", Words.query("mixed"), #"{"count":{},"sum":{"field":{"fieldPath":"x"}}}"#),
        ]
    }

    /// Times that can't be read at, and transactions that begin with a read.
    private static var consistency: [OracleCase] {
        let query = #""structuredQuery":\#(Words.query("doubles"))"#
        let aggregation = #""structuredAggregationQuery":{\#(query),"aggregations":[\#(count)]}"#
        let documents = #""documents":["\#(OraclePair.name)/doubles/d0","\#(OraclePair.name)/doubles/none"]"#
        let reads = [(":runQuery", query), (":runAggregationQuery", aggregation), (":batchGet", documents)]
        let times = [#""2100-01-01T00:00:00Z""#, #""2020-01-01T00:00:00Z""#, #""x""#]
        return reads.flatMap { verb, body in
            times.map { OracleCase("\(verb) at \($0)", .post(verb, #"{\#(body),"readTime":\#($0)}"#)) } + [
                OracleCase(
                    "\(verb) in a new transaction", .post(verb, #"{\#(body),"newTransaction":{"readOnly":{}}}"#)),
                OracleCase("\(verb) in a new one that writes", .post(verb, #"{\#(body),"newTransaction":{}}"#)),
                OracleCase(
                    "\(verb) twice somewhere",
                    .post(verb, #"{\#(body),"readTime":\#(times[1]),"newTransaction":{}}"#)),
            ]
        }
            + times.map {
                OracleCase(
                    "begin at \($0)", .post(":beginTransaction", #"{"options":{"readOnly":{"readTime":\#($0)}}}"#))
            }
    }
}
