import TestSupport

/// Conditions of all kinds, most of them with a mistake of types somewhere.
package struct RandomConditions {
    private var random: SeededGenerator

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private mutating func next(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private mutating func pick(_ all: [String]) -> String { all[next(all.count)] }

    private static let atoms = [
        "null", "true", "false", "0", "1", "2", "-1", "3", "1.0", "2.5", "'a'", "'abc'", "''", "'1'", "'a,b'", "b'a'",
        "[]",
        "[1]", "[1, 2]", "['a', 'b']", "[1, 'a', null]", "{}", "{'a': 1}", "{'a': 1, 'b': 'x'}", "{'a': {'b': 1}}",
        "/a/b",
        "/a/$('b')/c", "[1, 2].toSet()", "timestamp.value(0)", "timestamp.date(2024, 2, 29)", "duration.value(1, 's')",
        "duration.value(90, 'm')", "latlng.value(1, 2)", "id", "request.auth.uid", "request.auth.token.num",
        "request.auth.token.list", "request.auth.token.map", "request.auth.token.nope", "resource", "nope",
    ]
    private static let methods = [
        "size()", "keys()", "toSet()", "lower()", "upper()", "trim()", "toUtf8()", "toHexString()", "toBase64()",
        "seconds()",
        "nanos()", "year()", "month()", "day()", "hours()", "minutes()", "dayOfWeek()", "dayOfYear()", "toMillis()",
        "date()",
        "time()", "latitude()", "longitude()", "addedKeys()", "changedKeys()",
    ]
    private static let methodsOfOne = [
        "hasAny", "hasAll", "hasOnly", "concat", "removeAll", "join", "split", "matches", "diff", "union",
        "intersection",
        "difference", "distance",
    ]
    private static let functions = [
        "string", "int", "float", "path", "debug", "math.abs", "math.ceil", "math.floor", "math.round", "math.sqrt",
        "math.isNaN", "duration.abs", "hashing.md5", "hashing.sha256", "hashing.crc32",
    ]

    package mutating func condition() -> String { "\(value(3)) \(pick(["==", "!=", "==", "<", "in"])) \(value(2))" }

    private mutating func value(_ depth: Int) -> String {
        guard depth > 0 else { return pick(Self.atoms) }
        switch next(16) {
        case 0: return "(\(value(depth - 1)) \(pick(["+", "-", "*", "/", "%"])) \(value(depth - 1)))"
        case 1: return "(\(value(depth - 1)) \(pick(["<", "<=", ">", ">=", "==", "!="])) \(value(depth - 1)))"
        case 2: return "(\(value(depth - 1)) \(pick(["&&", "||"])) \(value(depth - 1)))"
        case 3: return "(\(value(depth - 1)) in \(value(depth - 1)))"
        case 4:
            let types = [
                "bool", "int", "float", "number", "string", "list", "map", "path", "timestamp", "duration", "bytes",
                "latlng",
            ]
            return "(\(value(depth - 1)) is \(pick(types)))"
        case 5: return "(\(value(depth - 1)) ? \(value(depth - 1)) : \(value(depth - 1)))"
        case 6: return "\(pick(["!", "-"]))(\(value(depth - 1)))"
        case 7: return "(\(value(depth - 1))).\(pick(Self.methods))"
        case 8: return "(\(value(depth - 1))).\(pick(Self.methodsOfOne))(\(value(depth - 1)))"
        case 9: return "(\(value(depth - 1)))[\(value(depth - 1))]"
        case 10: return "(\(value(depth - 1))).\(pick(["a", "b", "uid", "data"]))"
        case 11: return "(\(value(depth - 1))).get(\(value(depth - 1)), \(value(depth - 1)))"
        case 12: return "\(pick(Self.functions))(\(value(depth - 1)))"
        case 13: return "(\(value(depth - 1)))[\(pick(["", "0", "1", "2", "null"])):\(pick(["", "0", "1", "2", "3"]))]"
        case 14: return "[\(value(depth - 1)), \(value(depth - 1))]"
        default: return pick(Self.atoms)
        }
    }
}
