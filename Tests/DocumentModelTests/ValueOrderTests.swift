@testable import DocumentModel
import TestSupport
import Testing

struct ValueOrderTests {
    private static func vector(_ elements: [Double]) -> Value {
        .map(["__type__": .string("__vector__"), "value": .array(elements.map(Value.double))])
    }

    private static func reference(_ path: String) throws -> Value {
        .reference(DocumentName(database: DatabaseID(project: "p"), path: try DocumentPath(path)))
    }

    /// Each value before the next.
    private static func ascending() throws -> [Value] {
        [
            .null, .boolean(false), .boolean(true),
            .double(.nan), .double(-.infinity), .integer(.min), .integer(-1), .double(-0.5), .integer(0),
            .double(.leastNonzeroMagnitude), .integer(1), .double(1.5), .integer(1 << 53), .integer((1 << 53) + 1),
            .integer(.max - 1), .integer(.max), .double(0x1p63), .double(.infinity),
            .timestamp(Timestamp(seconds: -1, nanoseconds: 999)), .timestamp(Timestamp(seconds: 0, nanoseconds: 0)),
            .string(""), .string("a"), .string("a\u{0}"), .string("ab"), .string("b"), .string("e\u{301}"),
            .string("é"), .string("\u{FFFF}"), .string("😀"),
            .bytes([]), .bytes([0]), .bytes([0, 1]), .bytes([1]),
            try reference("a/b"), try reference("a/b/c/d"), try reference("a/b!"), try reference("a!/b"),
            .geoPoint(GeoPoint(latitude: -1, longitude: 5)), .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
            .array([]), .array([.null]), .array([.integer(1)]), .array([.integer(1), .null]), .array([.integer(2)]),
            vector([5]), vector([1, 2]), vector([1, 3]),
            .map([:]), .map(["a": .integer(1)]), .map(["a": .integer(1), "b": .null]), .map(["a": .integer(2)]),
            .map(["b": .null]),
        ]
    }

    @Test func everyValueSortsBeforeAllThatFollow() throws {
        let values = try Self.ascending()
        for (i, a) in values.enumerated() {
            for (j, b) in values.enumerated() {
                let expected: ValueOrder = i < j ? .ascending : i == j ? .same : .descending
                #expect(Value.compare(a, b) == expected, "\(a) and \(b)")
            }
        }
    }

    @Test(arguments: [
        (Value.integer(1), Value.double(1)), (.integer(0), .double(-0.0)), (.double(.nan), .double(-.nan)),
        (.integer(1 << 53), .double(0x1p53)),
        (.integer(.min), .double(-0x1p63)),
    ])
    func equivalentNumbersAreOneValue(a: Value, b: Value) {
        #expect(Value.equivalent(a, b))
    }

    @Test(arguments: [
        (Value.double(0), Value.double(-0.0)), (.integer(0), .double(0)),
        (.geoPoint(GeoPoint(latitude: 0, longitude: 0)), .geoPoint(GeoPoint(latitude: -0.0, longitude: 0))),
    ])
    func equalityIsExactWhereEquivalenceIsNot(a: Value, b: Value) {
        #expect(a != b)
        #expect(Value.array([a]) != Value.array([b]))
        #expect(EquivalentValue(a) == EquivalentValue(b))
        #expect(EquivalentValue(a).hashValue == EquivalentValue(b).hashValue)
    }

    @Test func equivalentValuesAreThoseOfTheSamePlaceAndHaveEqualHashes() {
        var generator = SeededGenerator(seed: 8)
        let values = (0..<400).map { _ in Value.random(using: &generator) }
        for a in values {
            for b in values {
                let isSame = Value.compare(a, b) == .same
                let (first, second) = (EquivalentValue(a), EquivalentValue(b))
                #expect((first == second) == isSame, "\(a) and \(b)")
                if isSame { #expect(first.hashValue == second.hashValue, "\(a) and \(b)") }
            }
        }
    }

    /// A client could fill a document with values of one hash, whose comparison takes the square of their number.
    @Test func differentValuesHaveDifferentHashes() {
        func lists(_ kinds: [Value]) -> [Value] {
            (0..<256).map { number in
                .array((0..<8).map { kinds[number >> $0 & 1] })
            }
        }
        let one = Int64(bitPattern: (1.5).bitPattern)
        for kinds in [
            [.null, .integer(0)], [.string("e\u{301}"), .string("é")], [.double(1.5), .integer(one)],
            [.string("ab"), .string("a")], [.boolean(false), .null],
        ] as [[Value]] {
            #expect(Set(lists(kinds).map(\.hashValue)).count > 250)
            #expect(Set(lists(kinds).map { EquivalentValue($0).hashValue }).count > 250)
        }
        #expect(Set(lists([.double(0), .double(-0.0)]).map(\.hashValue)).count > 250)
    }

    @Test func mapsSortByTheirEntriesInTheOrderOfNames() {
        var generator = SeededGenerator(seed: 9)
        func order(_ a: [String: Value], _ b: [String: Value]) -> ValueOrder {
            let names = { (map: [String: Value]) in map.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }
            for (nameA, nameB) in zip(names(a), names(b)) {
                let byName = Value.compare(nameA.utf8, nameB.utf8)
                let order = byName == .same ? Value.compare(a[nameA] ?? .null, b[nameB] ?? .null) : byName
                if order != .same { return order }
            }
            return ValueOrder(a.count, b.count)
        }
        for _ in 0..<3000 {
            var maps: [[String: Value]] = [[:], [:]]
            for index in maps.indices {
                for name in ["", "a", "a\u{0}", "aa", "b", "é", "e\u{301}"] where !generator.once(in: 3) {
                    let value: Value = generator.once(in: 4) ? .random(using: &generator) : .integer(1)
                    maps[index].updateValue(value, forKey: name)
                }
            }
            #expect(Value.compare(.map(maps[0]), .map(maps[1])) == order(maps[0], maps[1]), "\(maps)")
        }
    }

    @Test func orderIsTransitiveOnRandomValues() {
        var generator = SeededGenerator(seed: 7)
        let values = (0..<60).map { _ in Value.random(using: &generator) }
        for a in values {
            for b in values where Value.compare(a, b) == .ascending {
                #expect(Value.compare(b, a) == .descending)
                for c in values where Value.compare(b, c) == .ascending {
                    #expect(Value.compare(a, c) == .ascending, "\(a), \(b), \(c)")
                }
            }
        }
    }
}
