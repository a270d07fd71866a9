/// Searches for the nearest vectors, queries over all collections, and other spellings of requests.
enum OracleSearches {
    private typealias Words = OracleWords

    static var cases: [OracleCase] { [vectors, tree] + searches + refusedSearches + collections + spellings }

    private static let vectors = OracleCase(
        "the vectors",
        .commit(
            vector("a", [1, 0]), vector("b", [0, 1]), vector("c", [3, 4]), vector("zero", [0, 0]),
            vector("three", [1, 2, 3]), vector("negative", [-1, -1]), vector("twin", [1, 0]),
            Words.set("vectors/none", ["k": Words.text("none")]),
            Words.set("vectors/array", ["v": Words.array(Words.double(1), Words.double(0)), "k": Words.text("array")])))

    private static func vector(_ id: String, _ numbers: [Double]) -> String {
        Words.set("vectors/\(id)", ["v": Words.vector(numbers), "k": Words.text(id)])
    }

    private static func search(
        _ title: String, _ members: [String: String] = [:], query: String = "", without left: String? = nil,
        differs difference: String? = nil
    ) -> OracleCase {
        var all = [
            "vectorField": #"{"fieldPath":"v"}"#, "queryVector": Words.vector([1, 0]), "limit": "3",
            "distanceMeasure": #""EUCLIDEAN""#, "distanceResultField": #""d""#,
        ].merging(members) { $1 }
        if let left { all[left] = nil }
        let nearest = #""findNearest":\#(Words.object(all))"#
        return OracleCase(
            title,
            .query(#"{"from":[{"collectionId":"vectors"}],\#(nearest)\#(query.isEmpty ? "" : "," + query)}"#),
            differs: difference)
    }

    private static var searches: [OracleCase] {
        let measures = ["EUCLIDEAN", "COSINE", "DOT_PRODUCT"].flatMap { measure in
            [
                search(measure, ["distanceMeasure": "\"\(measure)\"", "limit": "9"]),
                search("\(measure), near", ["distanceMeasure": "\"\(measure)\"", "distanceThreshold": "0.5"]),
                search("\(measure), two", ["distanceMeasure": "\"\(measure)\"", "limit": "2"]),
            ]
        }
        let later = #""where":\#(Words.filter("k", "GREATER_THAN", Words.text("b")))"#
        let field = { (name: String) in #"{"fieldPath":"\#(name)"}"# }
        return measures + [
            search("filtered", query: later),
            search("ordered", query: #""orderBy":[\#(Words.by("k"))]"#),
            search("selected", query: #""select":{"fields":[\#(field("k"))]}"#),
            search("selected with the distance", query: #""select":{"fields":[\#(field("k")),\#(field("d"))]}"#),
            search("no distance", without: "distanceResultField"),
            search("the distance's name is one segment", ["distanceResultField": #""a.b""#]),
            search("the distance replaces a field", ["distanceResultField": #""k""#]),
            search("names aren't vectors", ["vectorField": field("__name__")]),
            search("three elements", ["queryVector": Words.vector([1, 2, 3])]),
            search("wrapped numbers", ["limit": #"{"value":2}"#], differs: "the emulator knows the bare number only"),
            search("a measure by its number", ["distanceMeasure": "2"]),
        ]
    }

    private static var refusedSearches: [OracleCase] {
        [
            search("no limit", without: "limit"), search("limit 0", ["limit": "0"]),
            search("limit 1001", ["limit": "1001"]), search("no measure", without: "distanceMeasure"),
            search("no vector", without: "queryVector"), search("an empty vector", ["queryVector": Words.vector([])]),
            search("too many elements", ["queryVector": Words.vector(Array(repeating: 0.5, count: 2049))]),
            search("an array", ["queryVector": Words.array(Words.double(1))]),
            search("a reserved name", ["distanceResultField": #""__d__""#]),
            search("a threshold that isn't a number", ["distanceThreshold": #""NaN""#]),
            search("an infinite threshold", ["distanceThreshold": #""-Infinity""#]),
            search("limited", query: #""limit":1"#), search("with an offset", query: #""offset":1"#),
            search(
                "with a cursor",
                query: #""orderBy":[\#(Words.by("k"))],\#(Words.start([Words.text("b")], before: true))"#),
        ]
    }

    // MARK: All collections

    private static let tree = OracleCase(
        "the tree",
        .commit(
            Words.set("s/r", [:]), Words.set("s/r/a/1", ["k": int(1)]), Words.set("s/r/a/1/b/2", ["k": int(2)]),
            Words.set("s/r/a/missing/b/3", ["k": int(3)]), Words.set("s/r/a/9", [:]), Words.set("s/r/ab/1", [:]),
            Words.set("s/r/b/1/a/1/a/1", [:]), Words.set("s/r2/a/1", [:])))

    private static func int(_ value: Int64) -> String { Words.integer(value) }

    private static func all(_ title: String, _ extra: String = "") -> OracleCase {
        let query = #"{"from":[{"allDescendants":true}]\#(extra.isEmpty ? "" : "," + extra)}"#
        return OracleCase("all collections: " + title, .query(query, below: "/s/r"))
    }

    private static func name(_ operation: String, _ path: String) -> String {
        Words.filter("__name__", operation, Words.reference("s/r/" + path))
    }

    private static var collections: [OracleCase] {
        // As recursiveDelete finds what is in one collection.
        let one = Words.all(name("GREATER_THAN_OR_EQUAL", #"a/\u0000"#), name("LESS_THAN", #"a\u0000/\u0000"#))
        let byName = #""orderBy":[\#(Words.by("__name__"))]"#
        func start(_ path: String, before: Bool) -> String {
            byName + "," + Words.start([Words.reference("s/r/" + path)], before: before)
        }
        return [
            all("everything"), all("names only", #""select":{"fields":[{"fieldPath":"__name__"}]}"#),
            all("one of them", #""where":\#(one)"#), all("limited", #""limit":2"#),
            all("with an offset", #""offset":2,"limit":2"#), all("from a name", start("a/1", before: true)),
            all("after a name", start("a/1", before: false) + #","limit":2"#),
            all("after one that doesn't exist", start("a/2", before: false)),
            all("up to a name", byName + "," + Words.end([Words.reference("s/r/a/9")], before: true)),
            all("one name", #""where":\#(name("EQUAL", "a/1/b/2"))"#),
            all("two names", #""where":\#(Words.any(name("EQUAL", "a/1/b/2"), name("EQUAL", "b/1")))"#),
            all("all but one", #""where":\#(name("NOT_EQUAL", "a/1"))"#),
            all("by a field", #""where":\#(Words.filter("k", "EQUAL", int(1)))"#),
            all("ordered by a field", #""orderBy":[\#(Words.by("k"))]"#),
            all("backwards", #""orderBy":[\#(Words.by("__name__", descending: true))]"#),
        ]
    }

    // MARK: Spellings

    /// Protobuf's other spellings of one message, which Google's own clients send.
    private static var spellings: [OracleCase] {
        let body =
            #"{"structured_query":{"from":[{"collection_id":"vectors"}],"where":{"field_filter":{"field":{"field_path":"k"},"#
        return [
            OracleCase(
                "names with underscores, enums by number",
                .post(
                    ":runQuery",
                    body
                        + #""op":5,"value":{"string_value":"a"}}},"order_by":[{"field":{"field_path":"k"},"direction":2}]}}"#
                )),
            OracleCase(
                "writes by numbers",
                .post(
                    ":commit",
                    #"{"writes":[{"transform":{"document":"\#(OraclePair.name)/sp/1","field_transforms":[{"field_path":"t","set_to_server_value":1}]}},"#
                        + #"{"update":{"name":"\#(OraclePair.name)/sp/2","fields":{"n":{"nullValue":0},"i":{"integer_value":7}}}}]}"#
                ),
                .get("/sp/2")),
            OracleCase(
                "aggregations with underscores",
                .post(
                    ":runAggregationQuery",
                    #"{"structured_aggregation_query":{"structured_query":{"from":[{"collection_id":"vectors"}]},"aggregations":[{"count":{"up_to":"3"},"alias":"n"}]}}"#
                )),
            OracleCase(
                "an unknown name", .post(":runQuery", body + #""op":5,"values":{"string_value":"a"}}}}}"#)),
            OracleCase("an unknown number", .post(":runQuery", body + #""op":77,"value":{"string_value":"a"}}}}}"#)),
            OracleCase("a query parameter of Google's clients", .get(#"/v/none?$alt=json;enum-encoding=int"#)),
        ]
    }
}
