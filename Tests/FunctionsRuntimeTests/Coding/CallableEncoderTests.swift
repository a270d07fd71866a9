import Foundation
import FunctionsRuntime
import Testing

@Suite struct CallableEncoderTests {
    private func encode(_ value: some Encodable) throws -> String {
        String(decoding: try CallableEncoder().encode(value), as: UTF8.self)
    }

    /// A stream's clients read it line by line, and end a line at each of these.
    @Test func whatEndsALineIsEscaped() throws {
        let text = "a\u{85}b\u{2028}c\u{2029}d\n"
        #expect(try encode([text: text]) == #"{"a\u0085b\u2028c\u2029d\n":"a\u0085b\u2028c\u2029d\n"}"#)
        let other = try CallableEncoder(wrapsIntegers: false).encode(text)
        #expect(String(decoding: other, as: UTF8.self).unicodeScalars.contains("\u{2028}"))
    }

    enum Size: String, Codable { case small, large }

    enum Payment: Codable, Equatable {
        case cash
        case card(last4: String, Int)
    }

    struct Everything: Codable, Equatable {
        var bool = true
        var int = -1
        var int8 = Int8.min
        var int16 = Int16.max
        var int32 = Int32.min
        var uint8 = UInt8.max
        var uint16 = UInt16.max
        var uint32 = UInt32.max
        var double = 1.25
        var float: Float = 0.1
        var string = "ä\"\n😀"
        var absent: String?
        var list = [[1], [], [2, 3]]
        var optionals: [Int?] = [1, nil]
        var byName = ["a": 1.5]
        var byNumber = [7: "seven"]
        var size = Size.large
        var payments = [Payment.cash, .card(last4: "1234", 5)]
        var data = Data([0, 255])
        var date = Date(timeIntervalSinceReferenceDate: 789_015_845.123456)
        var url = URL(string: "https://shop.example/")
        var time = Timestamp(seconds: 5, nanoseconds: 600)
        var place = GeoPoint(latitude: 1.5, longitude: -2)
        var json: JSONValue = ["deep": [1, .integer(.max), nil]]
        var large = Int64.min
        var larger = UInt64.max
    }

    @Test func everyTypeComesBackAsItWas() throws {
        let value = Everything()
        let bytes = try CallableEncoder().encode(value)
        #expect(try CallableDecoder().decode(Everything.self, from: bytes) == value)
    }

    @Test func foundationReadsWhatIsWritten() throws {
        struct Plain: Codable, Equatable {
            var numbers = [0.1, 1e21, -3, 123456789.125]
            var floats: [Float] = [0.1, 16_777_216]
            var text = "a\u{1}\u{2028}\\"
            var size: Size? = .small
        }
        let value = Plain()
        #expect(try JSONDecoder().decode(Plain.self, from: Data(CallableEncoder().encode(value))) == value)
        #expect(try CallableDecoder().decode(Plain.self, from: Array(JSONEncoder().encode(value))) == value)
    }

    @Test func integersThatJavaScriptCannotHoldAreWrapped() throws {
        let wrap = { (type: String, digits: String) in
            #"{"@type":"type.googleapis.com/google.protobuf.\#(type)","value":"\#(digits)"}"#
        }
        #expect(try encode(9_007_199_254_740_991) == "9007199254740991")
        #expect(try encode(9_007_199_254_740_992) == wrap("Int64Value", "9007199254740992"))
        #expect(try encode(-9_007_199_254_740_991) == "-9007199254740991")
        #expect(try encode(-9_007_199_254_740_992) == wrap("Int64Value", "-9007199254740992"))
        #expect(try encode(UInt64.max) == wrap("UInt64Value", "18446744073709551615"))
        #expect(
            try encode(["a": JSONValue.array([.integer(.min)])])
                == #"{"a":[\#(wrap("Int64Value", "-9223372036854775808"))]}"#)
    }

    /// Android's SDK drops the error otherwise.
    @Test func detailsWrapOnlyWhatEverySDKUnwraps() throws {
        let details = try CallableEncoder.details.encode([UInt64(Int64.max), UInt64(Int64.max) + 1, .max, 1])
        let wrapped = #"{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":"9223372036854775807"}"#
        #expect(
            String(decoding: details, as: UTF8.self)
                == "[\(wrapped),9223372036854775808,18446744073709551615,1]")
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (0.5, "1970-01-01T00:00:00.500Z"), (-0.25, "1969-12-31T23:59:59.750Z"),
        (1_767_323_045.123456, "2026-01-02T03:04:05.123456Z"), (0.9999999, "1970-01-01T00:00:01Z"),
    ])
    func dateIsWrittenWithTheFractionItNeeds(seconds: Double, text: String) throws {
        #expect(try encode(Date(timeIntervalSince1970: seconds)) == "\"\(text)\"")
    }

    @Test func decimalIsANumber() throws {
        let numbers = try ["0.1", "12.50", "5", "-9007199254740991", "0.30000000000000000004"].map {
            try #require(Decimal(string: $0))
        }
        #expect(try encode(numbers) == "[0.1,12.5,5,-9007199254740991,0.3]")
        #expect(throws: EncodingError.self) { try encode(Decimal.nan) }
    }

    @Test func floatKeepsItsOwnDigits() throws {
        #expect(try encode([Float(0.1), 2]) == "[0.1,2]")
    }

    @Test func whatHasNoFormIsRefusedWithItsPath() {
        struct Inner: Encodable { var ratio = Double.nan }
        struct Outer: Encodable { var list = [Inner()] }
        struct Ambiguous: Encodable {
            func encode(to encoder: any Encoder) throws {
                var single = encoder.singleValueContainer()
                try single.encode(1)
                try single.encode(2)
            }
        }
        struct Silent: Encodable { func encode(to encoder: any Encoder) {} }
        func explanation(_ value: some Encodable) -> String? {
            #expect(throws: EncodingError.self) { try encode(value) }?.explanation
        }
        #expect(explanation(Outer()) == "result.list[0].ratio: JSON has no number for nan")
        #expect(
            explanation([Date.distantFuture, Date(timeIntervalSince1970: .infinity)])
                == "result[1]: the time is not within years 1 to 9999")
        #expect(explanation(["a": Ambiguous()]) == "result.a: the value encodes itself in two ways at once")
        #expect(explanation(Silent()) == "result: Silent encoded nothing")
        #expect(
            explanation(["n": FieldValue.increment(1)])
                == "result.n: a FieldValue can be encoded only in documents")
    }

    /// Each of its containers has a child that is completed later.
    private struct TwoContainers: Encodable {
        var isKeyedFirst: Bool

        func encode(to encoder: any Encoder) throws {
            if isKeyedFirst { try encodeKeyed(to: encoder) }
            var elements = encoder.unkeyedContainer()
            for _ in 0..<3 {
                var nested = elements.nestedUnkeyedContainer()
                try nested.encode(1)
            }
            if !isKeyedFirst { try encodeKeyed(to: encoder) }
        }

        private func encodeKeyed(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: CodingKeys.self)
            var nested = members.nestedUnkeyedContainer(forKey: .isKeyedFirst)
            try nested.encode(1)
        }

        private enum CodingKeys: CodingKey { case isKeyedFirst }
    }

    private struct ArrayAndValue: Encodable {
        func encode(to encoder: any Encoder) throws {
            var elements = encoder.unkeyedContainer()
            _ = elements.nestedUnkeyedContainer()
            var single = encoder.singleValueContainer()
            try single.encode(1)
        }
    }

    @Test func aValueWithTwoContainersIsRefused() {
        let values: [any Encodable] = [
            TwoContainers(isKeyedFirst: true), TwoContainers(isKeyedFirst: false), ArrayAndValue(),
        ]
        for value in values {
            let error = #expect(throws: EncodingError.self) { try encode(value) }
            #expect(error?.explanation == "result: the value encodes itself in two ways at once")
        }
    }

    @Test func nothingIsNull() throws {
        #expect(try encode(String?.none) == "null")
        #expect(try encode([Int?.none, 1]) == "[null,1]")
        struct Empty: Encodable {}
        #expect(try encode(Empty()) == "{}")
    }
}
