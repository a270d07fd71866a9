/// Writes of every kind, each followed by a look at what it left.
enum OracleWrites {
    private typealias Words = OracleWords

    static var cases: [OracleCase] { numbers + arrays + transforms + masks + preconditions + sequences + values }

    private static func int(_ value: Int64) -> String { Words.integer(value) }

    /// A write of `w/ID`, after another one if there is one, and the document after it.
    private static func leaves(
        _ title: String, at id: String = "d", before: String? = nil, _ writes: String...,
        differs difference: String? = nil
    ) -> OracleCase {
        var example = OracleCase(title, differs: difference)
        if let before { example.requests.append(.commit(before)) }
        let body = #"{"writes":[\#(writes.joined(separator: ","))]}"#
        example.requests += [.post(":commit", body), .get("/w/\(id)")]
        return example
    }

    /// Sums and extremes of numbers that are equal, far apart, or none.
    private static var numbers: [OracleCase] {
        let pairs: [(String?, String)] = [
            (int(1), int(2)), (int(.max), int(1)), (int(.min), int(-1)), (int(1), Words.double(0.5)),
            (Words.double(0.5), int(1)), (int(.max), Words.double(1)), (Words.double(.nan), int(1)),
            (Words.text("x"), int(3)), (Words.null, Words.double(2)),
            (Words.double(.infinity), Words.double(-.infinity)), (Words.double(1.7e308), Words.double(1.7e308)),
            (Words.double(-0.0), int(0)), (Words.double(-0.0), Words.double(0)), (int(0), Words.double(-0.0)),
            (int(1 << 53 + 1), Words.double(0)), (int(1 << 53 + 1), Words.double(0x1p53)),
            (Words.array(int(1)), int(1)), (int(1), Words.double(.nan)), (nil, Words.double(-0.0)), (nil, int(7)),
            (int(1), Words.double(1)), (Words.double(1), int(1)), (Words.double(2.5), int(3)),
            (int(3), Words.double(2.5)),
        ]
        let refused = [Words.text("x"), Words.null, Words.boolean(true), Words.array()]
        return ["increment", "maximum", "minimum"].flatMap { operation in
            pairs.map { pair in
                leaves(
                    "\(operation) \(pair.0 ?? "nothing") by \(pair.1)",
                    before: Words.set("w/d", pair.0.map { ["f": $0, "g": int(7)] } ?? [:]),
                    Words.transform("w/d", Words.transforming("f", operation, pair.1)))
            }
                + refused.map {
                    leaves("\(operation) by \($0)", Words.transform("w/d", Words.transforming("f", operation, $0)))
                }
        }
    }

    private static var arrays: [OracleCase] {
        let fine = Words.time("2020-01-01T00:00:00.123456789Z")
        let cut = Words.time("2020-01-01T00:00:00.123456Z")
        let nan = Words.double(.nan)
        let tables: [(String?, [String])] = [
            (Words.array(int(1), int(2)), [Words.double(1), int(3), int(3)]), (Words.text("x"), [int(1)]), (nil, []),
            (nil, [int(1)]), (Words.array(nan, Words.null, int(1)), [nan, Words.null]),
            (Words.array(int(1), Words.double(1), int(2), int(1)), [Words.double(1)]),
            (Words.array(Words.double(0)), [Words.double(-0.0), int(0)]),
            (
                Words.array(Words.map(["a": int(1)])),
                [Words.map(["a": Words.double(1)]), Words.map(["a": int(2)])]
            ),
            (Words.array(int(1), int(1)), [int(2)]), (Words.array(cut), [fine]),
        ]
        let nested = leaves(
            "a list in a list is added", before: Words.set("w/d", [:]),
            Words.transform(
                "w/d",
                Words.transforming("f", "appendMissingElements", #"{"values":[\#(Words.array(int(1)))]}"#)),
            differs: "the emulator stores a list in a list this way, and in no other")
        return ["appendMissingElements", "removeAllFromArray"].flatMap { operation in
            tables.map { before, operand in
                leaves(
                    "\(operation) of \(before ?? "nothing"): \(operand)",
                    before: Words.set("w/d", before.map { ["f": $0] } ?? [:]),
                    Words.transform(
                        "w/d",
                        Words.transforming("f", operation, #"{"values":[\#(operand.joined(separator: ","))]}"#)))
            }
        } + [nested]
    }

    private static var transforms: [OracleCase] {
        func add(_ field: String) -> String { Words.transforming(field, "increment", int(1)) }
        let now = #""REQUEST_TIME""#
        let many = (0...500).map { add("f\($0)") }
        return [
            leaves(
                "times", before: Words.delete("w/d"),
                Words.transform(
                    "w/d", Words.transforming("a.b", "setToServerValue", now),
                    Words.transforming("c", "setToServerValue", now))),
            leaves(
                "no time",
                Words.transform(
                    "w/d", Words.transforming("c", "setToServerValue", #""SERVER_VALUE_UNSPECIFIED""#))),
            leaves("twice on one field", before: Words.delete("w/d"), Words.transform("w/d", add("a"), add("a"))),
            leaves(
                "inside a map", before: Words.set("w/d", ["a": Words.map(["b": int(1), "c": int(2)])]),
                Words.transform("w/d", add("a.b"))),
            leaves(
                "inside a value that isn't a map", before: Words.set("w/d", ["a": int(1)]),
                Words.transform("w/d", add("a.b.c"))),
            leaves(
                "beside a set",
                Words.set("w/d", ["x": int(1)], extra: #""updateTransforms":[\#(add("x")),\#(add("y"))]"#)
            ),
            leaves(
                "of a field in the mask",
                Words.update("w/d", ["x": int(1)], mask: ["x"], extra: #""updateTransforms":[\#(add("x"))]"#)),
            leaves(
                "below a field in the mask",
                Words.update(
                    "w/d", ["m": Words.map(["q": int(1)])], mask: ["m"], extra: #""updateTransforms":[\#(add("m.x"))]"#)
            ),
            leaves(
                "in the old form",
                #"{"transform":{"document":"\#(OraclePair.name)/w/d","fieldTransforms":[\#(add("x"))]}}"#),
            leaves(
                "none in the old form", #"{"transform":{"document":"\#(OraclePair.name)/w/d","fieldTransforms":[]}}"#),
            leaves("none", Words.transform("w/d")), leaves("what?", Words.transform("w/d", #"{"fieldPath":"x"}"#)),
            leaves("where?", Words.transform("w/d", #"{"increment":\#(int(1))}"#)),
            leaves("of a reserved field", Words.transform("w/d", add("__a__"))),
            leaves("of a field with a dash", Words.transform("w/d", add("a-b"))),
            leaves("of a quoted field", Words.transform("w/d", add("`a-b`.c"))),
            leaves("500", before: Words.delete("w/d"), Words.transform("w/d", many[..<500])),
            leaves(
                "501", before: Words.delete("w/d"), Words.transform("w/d", many[...]),
                differs: "500 is production's limit; the emulator has none"),
            leaves(
                "on a delete", before: Words.delete("w/d"),
                Words.delete("w/d", extra: #""updateTransforms":[\#(add("x"))]"#)),
            leaves(
                "on a verify", before: Words.delete("w/d"),
                Words.verify("w/d", extra: #""updateTransforms":[\#(add("x"))]"#)),
        ]
    }

    private static var masks: [OracleCase] {
        let before = Words.set(
            "w/d",
            [
                "a": int(1), "m": Words.map(["x": int(1), "y": int(2)]), "q.r": int(5), "v": Words.vector([1, 2]),
            ])
        let tables: [([String: String], [String])] = [
            (["a": int(2), "z": int(9)], ["a"]), ([:], ["a"]), (["m": Words.map(["x": int(5)])], ["m.x"]),
            (["m": Words.map([:])], ["m.x"]), ([:], ["m.x", "m.y"]), (["m": Words.map(["z": int(1)])], ["m"]),
            (["q.r": int(6)], ["`q.r`"]), (["a b": Words.map(["c`d\\e": int(6)])], ["`a b`.`c\\`d\\\\e`"]),
            (["m": Words.map(["x": int(5)])], ["m", "m.x"]), (["m": Words.map(["x": int(5)])], ["m.x", "m"]),
            ([:], ["m", "m.x"]), (["a": int(5)], ["a", "a"]), (["a": int(5)], []), ([:], ["__foo__"]),
            ([:], ["a..b"]), ([:], ["a-b"]), ([:], [""]), ([:], ["`a"]), (["a": Words.map(["b": int(1)])], ["a.b"]),
            ([:], ["a.b"]), (["m": int(1)], ["nope.x"]), (["0a": int(1)], ["0a"]), (["é": int(1)], ["é"]),
            (["é": int(1)], ["`é`"]), (["v": Words.map(["e": int(1)])], ["v.e"]), ([:], ["v.e"]), ([:], ["v.value"]),
            (["v": Words.vector([3])], ["v.value"]), (["v": Words.vector([3])], ["v", "v.value"]),
        ]
        return tables.map { fields, mask in
            leaves("mask \(mask) with \(fields.keys.sorted())", before: before, Words.update("w/d", fields, mask: mask))
        } + [
            leaves(
                "mask of what is not there", before: Words.delete("w/d"),
                Words.update("w/d", ["a": int(1)], mask: ["a", "b"])),
            leaves(
                "mask of nothing at all", before: Words.delete("w/d"), Words.update("w/d", [:], mask: ["a.b"])),
            leaves("mask on a delete", Words.delete("w/d", extra: #""updateMask":{"fieldPaths":["a"]}"#)),
            leaves(
                "mask of the name", before: before, Words.update("w/d", [:], mask: ["__name__"]),
                differs: "the emulator takes a name for a field; production documents __.*__ as reserved"),
        ]
    }

    private static var preconditions: [OracleCase] {
        let conditions = [
            #"{"exists":true}"#, #"{"exists":false}"#, #"{"updateTime":"2020-01-01T00:00:00Z"}"#, "{}",
        ]
        let noTime = "the emulator tells a verify of nothing when it was updated"
        return conditions.flatMap { condition in
            [Words.set("w/d", ["a": int(1)]), Words.delete("w/d")].enumerated().flatMap { index, before in
                let extra = #""currentDocument":\#(condition)"#
                let state = "\(condition) of \(index == 0 ? "a document" : "nothing")"
                let verifiesNothing = index == 1 && condition == #"{"exists":false}"#
                return [
                    leaves("set, \(state)", before: before, Words.set("w/d", ["b": int(1)], extra: extra)),
                    leaves(
                        "update, \(state)", before: before,
                        Words.update("w/d", ["b": int(1)], mask: ["b"], extra: extra)),
                    leaves(
                        "verify, \(state)", before: before, Words.verify("w/d", extra: extra),
                        differs: verifiesNothing ? noTime : nil),
                    leaves(
                        "transform, \(state)", before: before,
                        Words.transform("w/d", Words.transforming("n", "increment", int(1)), extra: extra)),
                    leaves("delete, \(state)", before: before, Words.delete("w/d", extra: extra)),
                ]
            }
        } + [
            leaves("verify nothing", Words.verify("w/d")),
            leaves(
                "both conditions",
                Words.delete("w/d", extra: #""currentDocument":{"exists":true,"updateTime":"2020-01-01T00:00:00Z"}"#)),
        ]
    }

    /// Several writes of one commit, and invalid commits.
    private static var sequences: [OracleCase] {
        let set = Words.set("w/d", ["b": int(1)])
        let verify = Words.verify("w/d", extra: #""currentDocument":{"exists":true}"#)
        let create = Words.set("w/d", ["n": int(1)], extra: #""currentDocument":{"exists":false}"#)
        let together = "the emulator answers writes of one document in one commit together"
        return [
            leaves("verify, then write", before: set, verify, set),
            leaves("write, then verify", before: set, set, verify),
            leaves("two sets", set, Words.set("w/d", ["c": int(1)])),
            leaves("set, then delete", set, Words.delete("w/d"), differs: together),
            leaves("delete, then create", before: set, Words.delete("w/d"), create, differs: together),
            leaves(
                "create twice", before: Words.delete("w/d"), create, create),
            leaves(
                "delete, then update", before: set, Words.delete("w/d"),
                Words.set("w/d", [:], extra: #""currentDocument":{"exists":true}"#)),
            leaves(
                "one of two fails", at: "half", Words.set("w/half", [:]),
                Words.set("w/none", [:], extra: #""currentDocument":{"exists":true}"#)),
            leaves("nothing changes", before: set, set),
            leaves("no operation", "{}"),
            leaves(
                "two operations", #"{"delete":"\#(OraclePair.name)/w/d","update":{"name":"\#(OraclePair.name)/w/d"}}"#),
            leaves("no name", #"{"update":{"fields":{}}}"#), leaves("a collection", Words.set("w", [:])),
            leaves("no name of a document", #"{"delete":"foo"}"#), leaves("an empty name", #"{"delete":""}"#),
            OracleCase(
                "no writes", .post(":commit", "{}"),
                differs: "a commit of nothing has a time too, as the message documents"),
            OracleCase(
                "writes that stand for themselves",
                .post(
                    ":batchWrite",
                    """
                    {"writes":[\(set),\(Words.delete("w/none")),
                    \(Words.set("w/none", [:], extra: #""currentDocument":{"exists":true}"#)),
                    \(Words.transform("w/t", Words.transforming("n", "increment", int(1))))],"labels":{"a":"b"}}
                    """), .get("/w/d"), .get("/w/none"), .get("/w/t")),
            OracleCase("two of one document", .post(":batchWrite", #"{"writes":[\#(set),\#(set)]}"#)),
            OracleCase("none at all", .post(":batchWrite", #"{"writes":[]}"#)),
            OracleCase(
                "an invalid one",
                .post(":batchWrite", #"{"writes":[\#(set),\#(Words.set("w/..", [:]))]}"#)),
        ]
    }

    /// Values as they may and may not be written.
    private static var values: [OracleCase] {
        let lenient = "the emulator's JSON takes it for what was meant; protobuf's doesn't"
        let fine = [
            #"{"integerValue":5}"#, #"{"integerValue":5.5}"#, #"{"integerValue":"x"}"#,
            #"{"integerValue":"9223372036854775808"}"#, #"{"doubleValue":"1e5"}"#, #"{"bytesValue":"***"}"#,
            #"{"bytesValue":"YQ"}"#, #"{"bytesValue":"-_8="}"#, #"{"referenceValue":"x"}"#, #"{"referenceValue":""}"#,
            #"{}"#, #"{"integerValue":"1","stringValue":"x"}"#, #"{"fooValue":1}"#, #"{"nullValue":"NULL_VALUE"}"#,
            #"{"nullValue":1}"#,
            #"{"arrayValue":{}}"#, #"{"mapValue":{}}"#, Words.reference("a"), Words.place(91, 0), Words.place(0, 181),
            #"{"geoPointValue":{"latitude":"NaN","longitude":0}}"#, Words.time("10000-01-01T00:00:00Z"),
            Words.time("0000-12-31T23:59:59Z"), Words.time("x"), Words.time("2020-01-01T02:00:00+02:00"),
            Words.array(Words.array(int(1))), Words.array(Words.map(["a": Words.array(int(1))])),
            Words.map(["__type__": Words.text("__vector__"), "value": Words.array(int(1))]),
            Words.map(["__type__": Words.text("__vector__"), "value": Words.array(Words.text("x"))]),
            Words.map(["__type__": Words.text("__vector__")]),
            Words.map(["__type__": Words.text("other"), "value": Words.array()]),
            Words.vector([]), Words.vector([.nan]), Words.array(Words.vector([1])),
            Words.vector((0..<2048).map(Double.init)), Words.vector((0..<2049).map(Double.init)),
        ]
        return fine.map { leaves("value \($0.prefix(80))", before: Words.delete("w/d"), Words.set("w/d", ["f": $0])) }
            + [#"{"booleanValue":"true"}"#, #"{"stringValue":5}"#].map {
                leaves(
                    "value \($0)", before: Words.delete("w/d"), Words.set("w/d", ["f": $0]), differs: lenient)
            }
    }
}
