import RealtimeModel
import RealtimeTesting
import TestSupport
import Testing

/// The orders of keys, values and priorities.
struct RealtimeOrderTests {
    @Test func keysAreOrderedByNumberThenByUTF16Units() {
        let ordered = keys([
            "-2147483648", "-5", "-005", "-0", "00", "000", "1", "01", "001", "2", "10", "2147483647", "0002147483647",
            " ", "!",
            "-", "--1", "-2147483649", "-M", "0x", "1.5".replacing(".", with: ","), "12345678901", "2147483648", "a",
            "a1", "b",
            "é", "\u{D7FF}", "\u{1F6D2}", "\u{10FFFF}", "\u{E000}", "\u{FFEE}",
        ])
        #expect(ordered.sorted() == ordered)
        for (position, first) in ordered.enumerated() {
            for (other, second) in ordered.enumerated() {
                #expect((first < second) == (position < other), "\(first), \(second)")
                #expect((first == second) == (position == other))
            }
        }
    }

    @Test func textOrderIsThatOfUTF16Units() async {
        await FuzzRounds.run("the order of strings", count: 2000) { random, seed in
            func string() -> String {
                let scalars: [Unicode.Scalar] = [
                    "a", "b", "\u{7F}", "é", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
                ]
                var text = String.UnicodeScalarView()
                for _ in 0..<Int.random(in: 0...4, using: &random) { text.append(random.pick(scalars)) }
                return String(text)
            }
            let (a, b) = (string(), string())
            let expected = a.utf16.lexicographicallyPrecedes(b.utf16)
            #expect((RealtimeLeaf.string(a) < .string(b)) == expected, "seed \(seed)")
            #expect((RealtimeLeaf.string(a) == .string(b)) == a.utf16.elementsEqual(b.utf16), "seed \(seed)")
        }
    }

    @Test func valuesAreOrderedByKindThenByValue() throws {
        let object = RealtimeIndexValue(try node(#"{"a":1}"#))
        let ordered: [RealtimeIndexValue] = [
            .null, .leaf(false), .leaf(true), .leaf(.number(RealtimeNumber(-Double.greatestFiniteMagnitude))),
            .leaf(-1.5),
            .leaf(-1), .leaf(0), .leaf(0.5), .leaf(1), .leaf(.number(RealtimeNumber(9_007_199_254_740_992))),
            .leaf(.number(RealtimeNumber(9_007_199_254_740_993))), .leaf(.number(RealtimeNumber(Int64.max))),
            .leaf(.number(RealtimeNumber(0x1p63))), .leaf(""), .leaf("10"), .leaf("9"), .leaf("a"), object,
        ]
        for (position, first) in ordered.enumerated() {
            for (other, second) in ordered.enumerated() {
                #expect((first < second) == (position < other), "\(first), \(second)")
            }
        }
        #expect(!(object < RealtimeIndexValue(try node(#"{"b":2}"#))))
    }

    @Test func prioritiesAreOrderedNoneNumbersStrings() {
        let ordered: [RealtimePriority?] = [nil, -1, 0.5, 2, "", "10", "9"]
        for (position, first) in ordered.enumerated() {
            for (other, second) in ordered.enumerated() {
                #expect(RealtimePriority.compare(first, second).signum() == (position - other).signum())
            }
        }
    }

    @Test func equalValuesAreOrderedByKey() {
        func entry(_ value: RealtimeIndexValue, _ key: String) -> RealtimeIndexEntry {
            RealtimeIndexEntry(value: value, key: RealtimeKey(unchecked: key))
        }
        #expect(entry(.leaf(1), "10") < entry(.leaf(2), "9"))
        #expect(entry(.leaf(1), "9") < entry(.leaf(1.0), "10"))
        #expect(!(entry(.leaf(1), "10") < entry(.leaf(1), "9")))
    }

    @Test func numbersHaveOneForm() {
        #expect(RealtimeNumber(10.0) == RealtimeNumber(10))
        #expect(RealtimeNumber(-0.0).integer == 0)
        #expect(RealtimeNumber(-0x1p63).integer == Int64.min)
        #expect(RealtimeNumber(0x1p63).integer == nil)
        #expect(Set<RealtimeLeaf>([1, 1.0, true, "1"]).count == 3)
    }

    @Test func sumsOverflowToDoubles() {
        #expect((RealtimeNumber(Int64.max) + 1).double == 0x1p63)
        #expect((RealtimeNumber(Int64.max) + 1).integer == nil)
        #expect(RealtimeNumber(8) + 0.5 == 8.5)
        #expect(RealtimeNumber(0.5) + 0.5 == 1)
        #expect(RealtimeNumber(1e308) + 1e308 == RealtimeNumber(Double.greatestFiniteMagnitude))
    }
}
