import TestSupport

/// Random documents, writes and queries that a seed repeats.
struct OracleRandom {
    private typealias Words = OracleWords

    private var random: SeededGenerator
    private let collection: String
    private static let fields = ["a", "b", "m.c"]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        collection = "r\(seed)"
    }

    /// Some writes, one commit each, and some queries on what they left.
    mutating func round() -> [OracleCase] {
        let writes = (0..<12).map { number in
            OracleCase("write \(number) of \(collection)", .commit(write(0), write(1)), .get("/\(path())"))
        }
        let queries = (0..<60).map { number in
            OracleCase("query \(number) of \(collection)", .query(query()))
        }
        let aggregations = (0..<6).map { number in
            OracleCase("aggregation \(number) of \(collection)", .aggregate(query(), #"{"count":{}}"#))
        }
        return writes + queries + aggregations
    }

    private mutating func path() -> String { "\(collection)/d\(Int.random(in: 0..<14, using: &random))" }

    /// Of even or odd number: two writes of one document in one commit are answered otherwise, see ``OracleWrites``.
    private mutating func path(_ odd: Int) -> String {
        "\(collection)/d\(Int.random(in: 0..<7, using: &random) * 2 + odd)"
    }

    private mutating func field() -> String { one(of: Self.fields) }

    private mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// Few different ones, so that many are equal.
    private mutating func value(depth: Int = 0) -> String {
        switch Int.random(in: 0..<(depth < 2 ? 17 : 13), using: &random) {
        case 0: Words.null
        case 1: Words.boolean(.random(using: &random))
        case 2...4: Words.integer(.random(in: -2...3, using: &random))
        case 5: Words.integer(one(of: [.max, .min, 1 << 53 + 1]))
        case 6, 7: Words.double(one(of: [-0.0, 0.5, 1, 2, 0x1p53, .nan, .infinity, -.infinity]))
        case 8: Words.time("2020-01-01T00:00:0\(Int.random(in: 0...2, using: &random)).000001Z")
        case 9: Words.text(one(of: ["", "a", "b", "é", "e\u{301}", "\u{ffff}", "\u{1f600}"]))
        case 10: Words.bytes(one(of: ["", "AA==", "/w=="]))
        case 11: Words.reference("\(collection)/d\(Int.random(in: 0...2, using: &random))")
        case 12: Words.place(one(of: [-1, 0, 1]), one(of: [0, 2]))
        case 13: Words.vector((0..<Int.random(in: 1...2, using: &random)).map { _ in one(of: [0, 1]) })
        // A list in a list is none.
        case 14 where depth == 0:
            Words.array((0..<Int.random(in: 0...3, using: &random)).map { _ in scalar() })
        default: Words.map(["c": value(depth: depth + 1)])
        }
    }

    private mutating func scalar() -> String {
        chance(30) ? Words.map(["c": Words.integer(1)]) : Words.integer(.random(in: 0...3, using: &random))
    }

    private mutating func write(_ odd: Int) -> String {
        let path = path(odd)
        var fields: [String: String] = [:]
        for name in ["a", "b"] where chance(75) { fields[name] = value() }
        if chance(75) { fields["m"] = Words.map(["c": value(depth: 1), "d": Words.integer(1)]) }
        let condition = chance(10) ? #""currentDocument":{"exists":\#(Bool.random(using: &random))}"# : ""
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return Words.delete(path, extra: condition)
        case 1, 2: return Words.update(path, fields, mask: [field(), field()], extra: condition)
        case 3:
            let operand = chance(50) ? Words.integer(one(of: [1, .max])) : Words.double(one(of: [0.5, .nan, -0.0]))
            let operation = one(of: ["increment", "maximum", "minimum"])
            return Words.transform(path, Words.transforming(field(), operation, operand), extra: condition)
        case 4:
            let operation = one(of: ["appendMissingElements", "removeAllFromArray"])
            let elements = #"{"values":[\#(scalar()),\#(scalar())]}"#
            return Words.transform(path, Words.transforming(field(), operation, elements), extra: condition)
        default: return Words.set(path, fields, extra: condition)
        }
    }

    private mutating func filter() -> String {
        let field = field()
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return Words.unary(field, one(of: ["IS_NULL", "IS_NOT_NULL", "IS_NAN", "IS_NOT_NAN"]))
        case 1: return Words.filter(field, "IN", Words.array(value(), value()))
        case 2: return Words.filter(field, "NOT_IN", Words.array(comparable(), comparable()))
        case 3: return Words.filter(field, "ARRAY_CONTAINS", scalar())
        case 4: return Words.filter(field, "ARRAY_CONTAINS_ANY", Words.array(scalar(), scalar()))
        case 5:
            let name = Words.reference("\(collection)/d\(Int.random(in: 0..<14, using: &random))")
            // Not equality, see ``OracleQueries``.
            return Words.filter("__name__", one(of: Array(OracleValues.comparisons.dropFirst())), name)
        case 6: return Words.filter(field, "NOT_EQUAL", comparable())
        default: return Words.filter(field, one(of: OracleValues.comparisons.filter { $0 != "NOT_EQUAL" }), value())
        }
    }

    /// Not NaN, of which something else is known: see ``OracleValues``.
    private mutating func comparable() -> String { Words.integer(.random(in: -1...3, using: &random)) }

    private mutating func query() -> String {
        var filters: [String] = []
        for _ in 0..<Int.random(in: 0...3, using: &random) { filters.append(filter()) }
        let all: String? =
            switch filters.count {
            case 0: nil
            case 1: filters[0]
            case 2: chance(70) ? Words.all(filters) : Words.any(filters)
            default: chance(60) ? Words.all(filters) : Words.all(filters[0], Words.any(filters[1], filters[2]))
            }
        var orders: [String] = []
        var candidates = Self.fields.shuffled(using: &random)
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            orders.append(Words.by(candidates.removeLast(), descending: .random(using: &random)))
        }
        var extra: [String] = []
        if chance(30) { extra.append(#""limit":\#(Int.random(in: 0...6, using: &random))"#) }
        if chance(15) { extra.append(#""offset":\#(Int.random(in: 0...4, using: &random))"#) }
        if !orders.isEmpty {
            // Now and then one value too many.
            let count = min(orders.count + (chance(3) ? 1 : 0), Int.random(in: 1...3, using: &random))
            if chance(25) {
                extra.append(Words.start((0..<count).map { _ in value() }, before: .random(using: &random)))
            }
            if chance(25) { extra.append(Words.end((0..<count).map { _ in value() }, before: .random(using: &random))) }
        }
        if chance(10) { extra.append(#""select":{"fields":[{"fieldPath":"\#(field())"}]}"#) }
        return Words.query(collection, where: all, order: orders, extra: extra.joined(separator: ","))
    }
}
