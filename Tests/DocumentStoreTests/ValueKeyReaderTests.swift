import TestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct ValueKeyReaderTests {
    @Test(arguments: [false, true])
    func valuesEndWhereTheirKeysDo(isInverted: Bool) {
        var generator = SeededGenerator(seed: 7)
        let database = DatabaseID(project: "p")
        for _ in 0..<2000 {
            var value = Value.random(using: &generator)
            if Int.random(in: 0..<20, using: &generator) == 0 {
                value = .reference(DocumentName(database: database, path: DocumentPath(unchecked: "a/b/c/d")))
            }
            let own = ValueKey.encode(value)
            let key = [9, 9] + (own + ValueKey.encode(.integer(1))).map { isInverted ? ~$0 : $0 }
            let found = ValueKeyReader.end(in: key, from: 2, isInverted: isInverted)
            #expect(found.end == own.count + 2, "\(value)")
            #expect(!found.isTruncated)
        }
    }

    @Test func aCutValueEndsWhereItWasCut() {
        for value in [
            Value.string(String(repeating: "x", count: 1600)), .bytes(Array(repeating: 0, count: 900)),
            .array(Array(repeating: .string("abc"), count: 400)),
            .map(["a": .string(String(repeating: "y", count: 1500))]),
        ] {
            let (own, truncated) = ValueKey.indexed(value)
            #expect(truncated)
            let found = ValueKeyReader.end(in: own + ValueKey.encode(.integer(1)), from: 0, isInverted: false)
            #expect(found == (DocumentLimits.maxIndexedValueBytes, true))
        }
        // As long as can be without being cut.
        let whole = Value.string(String(repeating: "x", count: DocumentLimits.maxIndexedValueBytes - 2))
        let key = ValueKey.indexed(whole).key
        #expect(ValueKeyReader.end(in: key + [2], from: 0, isInverted: false) == (key.count, false))
    }

    @Test(arguments: [
        Value.integer(0), .integer(.max), .integer(.min), .integer((1 << 53) + 1), .integer(-1), .double(0.5),
        .double(2),
        .double(-.infinity), .double(.nan), .double(0x1p63), .integer(.max - 511),
    ])
    func numbersAreReadBack(number: Value) {
        let isDouble = if case .double = number { true } else { false }
        for isInverted in [false, true] {
            let key = ValueKey.encode(number).map { isInverted ? ~$0 : $0 }
            #expect(ValueKeyReader.number(in: key, at: 0, isInverted: isInverted, isDouble: isDouble) == number)
        }
        #expect(
            ValueKeyReader.number(
                in: ValueKey.encode(.string("123456789012")), at: 0, isInverted: false, isDouble: false)
                == nil)
    }

    /// What a disk has made of a key, and no encoder would write.
    @Test func aDamagedKeyEndsWhereItsBytesDo() {
        let text = ValueKey.prefix(of: .string)
        for key in [
            [text], [text, 5, 5], [ValueKey.prefix(of: .number), 1], [ValueKey.prefix(of: .vector)], [0xEE], [],
        ] {
            let found = ValueKeyReader.end(in: key, from: 0, isInverted: false)
            #expect(found.end == key.count, "\(key)")
        }
        let array = ValueKey.prefix(of: .array)
        let deep = [UInt8](repeating: array, count: 1_000_000)
        #expect(
            ValueKeyReader.end(in: deep, from: 0, isInverted: false) == (DocumentLimits.maxIndexedValueBytes, true))
    }
}
