import Foundation
import FunctionsRuntime
import Testing

@Suite struct CallableDecoderTests {
    private static let int64 = "type.googleapis.com/google.protobuf.Int64Value"
    private static let uint64 = "type.googleapis.com/google.protobuf.UInt64Value"

    private func decode<T: Decodable>(_ type: T.Type = T.self, _ text: String) throws -> T {
        try CallableDecoder().decode(type, from: Array(text.utf8))
    }

    private func explanation<T: Decodable>(_ type: T.Type, _ text: String) -> String? {
        #expect(throws: DecodingError.self) { try decode(type, text) }?.explanation
    }

    struct Item: Codable, Equatable {
        var name: String
        var quantity: Int
        var price: Double?
        var tags: Set<String> = []
    }

    struct Order: Codable, Equatable {
        var items: [Item]
        var paid: Bool
        var note: String?
    }

    @Test func objectIsReadIntoTheAuthorsType() throws {
        let text = #"""
            {"items":[{"name":"a","quantity":2,"price":null,"tags":["x"]},
            {"quantity":1.0,"name":"b","price":3,"tags":[]}],
            "paid":true,"unknown":{}}
            """#
        let order = Order(
            items: [Item(name: "a", quantity: 2, tags: ["x"]), Item(name: "b", quantity: 1, price: 3)], paid: true)
        #expect(try decode(Order.self, text) == order)
    }

    @Test(arguments: [
        (
            #"{"items":[{"name":"a","quantity":1,"tags":[]},{"name":"b","quantity":"x","tags":[]}],"paid":true}"#,
            "data.items[1].quantity: expected an integer, found a string"
        ),
        (
            #"{"items":[{"name":"a","quantity":1.5,"tags":[]}],"paid":true}"#,
            "data.items[0].quantity: expected an integer, found a number"
        ),
        (#"{"items":[{"name":"a","tags":[]}],"paid":true}"#, "data.items[0].quantity: missing"),
        (
            #"{"items":[{"name":"a","quantity":null,"tags":[]}],"paid":true}"#,
            "data.items[0].quantity: expected an integer, found null"
        ),
        (
            #"{"items":[{"name":"a","quantity":99999999999999999999,"tags":[]}],"paid":true}"#,
            "data.items[0].quantity: the number is not within -9223372036854775808...9223372036854775807"
        ),
        (
            #"{"items":[{"name":"a","quantity":1,"tags":["x",5]}],"paid":true}"#,
            "data.items[0].tags[1]: expected a string, found an integer"
        ),
        (#"{"items":{},"paid":true}"#, "data.items: expected an array, found an object"),
        (#"{"items":[7],"paid":true}"#, "data.items[0]: expected an object, found an integer"),
        (#"{"items":[],"paid":1}"#, "data.paid: expected a boolean, found an integer"),
        ("[]", "data: expected an object, found an array"), ("null", "data: expected an object, found null"),
        (#"{"items":[],"paid":tru}"#, "data.paid: a value should be here, at byte 19"),
        (
            #"{"items":[{"name":"a","quantity":1,"name":"b"}],"paid":true}"#,
            "data.items[0].name: the key \"name\" is repeated, at byte 35"
        ),
    ])
    func errorNamesPathAndReason(text: String, reason: String) {
        #expect(explanation(Order.self, text) == reason)
    }

    @Test func halfOfASurrogatePairIsDecodedAsTheReplacementCharacter() throws {
        #expect(try decode([String].self, #"["\ud83d","a\ude00b"]"#) == ["\u{FFFD}", "a\u{FFFD}b"])
        #expect(try decode([String: Int].self, #"{"\ud83d":1}"#) == ["\u{FFFD}": 1])
    }

    @Test func wrappersCountAsTheIntegersTheyHold() throws {
        let wrapped = #"{"@type":"\#(Self.int64)","value":"-9007199254740993"}"#
        #expect(try decode(Int64.self, wrapped) == -9_007_199_254_740_993)
        #expect(try decode(Double.self, #"{"@type":"\#(Self.int64)","value":"3"}"#) == 3)
        #expect(try decode(UInt64.self, #"{"value":"18446744073709551615","@type":"\#(Self.uint64)"}"#) == .max)
        #expect(try decode([String: [Int]].self, #"{"a":[{"@type":"\#(Self.uint64)","value":"7"}]}"#) == ["a": [7]])
        #expect(try decode(JSONValue.self, "[\(wrapped)]") == [.integer(-9_007_199_254_740_993)])
        let other: JSONValue = ["@type": "shop.example/Money", "value": "7"]
        #expect(try decode(JSONValue.self, #"{"@type":"shop.example/Money","value":"7"}"#) == other)
    }

    @Test(arguments: [
        #""value":"x""#, #""value":5"#, #""value":"9223372036854775808""#, #""value":"1.5""#, #""value":"""#,
        #""v":"1""#,
    ])
    func malformedWrapperIsRefusedWithItsPath(member: String) {
        let text = #"{"a":[1,{"@type":"\#(Self.int64)",\#(member)}]}"#
        #expect(
            explanation(JSONValue.self, text)
                == "data.a[1]: an Int64Value holds no 64-bit integer in its \"value\"")
        let unsigned = #"{"@type":"\#(Self.uint64)","value":"-1"}"#
        #expect(
            explanation(UInt64.self, unsigned)
                == "data: a UInt64Value holds no unsigned 64-bit integer in its \"value\"")
    }

    @Test func numbersAreRangeCheckedForEveryType() throws {
        #expect(try decode(Int8.self, "-128") == -128)
        #expect(explanation(Int8.self, "128") == "data: the number is not within -128...127")
        #expect(try decode(UInt16.self, "65535.0") == 65535)
        #expect(explanation(UInt.self, "-1") == "data: the number is not within 0...18446744073709551615")
        #expect(try decode(UInt64.self, "18446744073709551615") == .max)
        #expect(try decode(Int32.self, "1e3") == 1000)
        #expect(try decode(Int.self, "-0") == 0)
        #expect(try decode(Float.self, "0.1") == 0.1)
        #expect(explanation(Float.self, "1e300") == "data: the number is too large for a Float")
        #expect(explanation(Double.self, "\"1\"") == "data: expected a number, found a string")
    }

    @Test func timesBytesAndURLsAreStrings() throws {
        let moment = Date(timeIntervalSince1970: 1_767_323_045.25)
        #expect(try decode(Date.self, #""2026-01-02T03:04:05.25Z""#) == moment)
        #expect(try decode(Date.self, #""2026-01-02T12:04:05.250+09:00""#) == moment)
        #expect(try decode(Date?.self, "null") == nil)
        let timestamp = Timestamp(seconds: 1_767_323_045, nanoseconds: 1)
        #expect(try decode(Timestamp.self, #""2026-01-02T03:04:05.000000001Z""#) == timestamp)
        #expect(explanation([Date].self, #"["yesterday"]"#) == "data[0]: expected an RFC 3339 time, found a string")
        #expect(try decode(Data.self, #""AQL/""#) == Data([1, 2, 255]))
        #expect(explanation(Data.self, #""*""#) == "data: expected a string in base64, found a string")
        #expect(try decode(URL.self, #""https://shop.example/a?b=c""#).path == "/a")
        #expect(explanation(URL.self, "5") == "data: expected a URL, found an integer")
    }

    /// As Firebase's SDKs for iOS send them.
    @Test func decimalsAreNumbers() throws {
        let texts = ["12.5", "0.1", "-3", "18446744073709551615", "1e21"]
        let numbers = try texts.map { try #require(Decimal(string: $0)) }
        #expect(try decode([Decimal].self, "[\(texts.joined(separator: ","))]") == numbers)
        #expect(try decode([Decimal?].self, "[null,1.0]") == [nil, 1])
        #expect(explanation([Decimal].self, #"["5"]"#) == "data[0]: expected a number, found a string")
        // As earlier versions have sent it.
        let mantissa = "[1999,0,0,0,0,0,0,0]"
        let old = #"{"exponent":-2,"length":1,"isNegative":false,"isCompact":true,"mantissa":\#(mantissa)}"#
        #expect(try decode(Decimal.self, old) == Decimal(string: "19.99"))
        #expect(
            explanation([Decimal].self, "[1e300]")
                == "data[0]: expected a number that a Decimal can hold, found a number")
    }

    @Test func dictionariesHaveKeysOfOtherTypesAsInFoundation() throws {
        #expect(try decode([Int: String].self, #"{"1":"a","2":"b"}"#) == [1: "a", 2: "b"])
        #expect(try decode([[Int]: Int].self, "[[1],2,[3],4]") == [[1]: 2, [3]: 4])
    }

    struct Tree: Codable, Equatable {
        var branches: [Tree]
    }

    @Test func deepestTextFitsTheStackBothWays() throws {
        let text = String(repeating: #"{"branches":["#, count: 256) + String(repeating: "]}", count: 256)
        let tree = try decode(Tree.self, text)
        #expect(String(decoding: try CallableEncoder().encode(tree), as: UTF8.self) == text)
        #expect(throws: DecodingError.self) { try decode(Tree.self, "[\(text)]") }
    }

    class Animal: Codable {
        var name: String
        init(name: String) { self.name = name }
    }

    final class Dog: Animal {
        var tricks: [String]

        init(name: String, tricks: [String]) {
            self.tricks = tricks
            super.init(name: name)
        }

        private enum CodingKeys: CodingKey { case tricks }

        required init(from decoder: any Decoder) throws {
            tricks = try decoder.container(keyedBy: CodingKeys.self).decode([String].self, forKey: .tricks)
            try super.init(from: try decoder.container(keyedBy: CodingKeys.self).superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try super.encode(to: container.superEncoder())
            try container.encode(tricks, forKey: .tricks)
        }
    }

    @Test func superclassStandsUnderItsOwnKey() throws {
        let text = #"{"super":{"name":"Rex"},"tricks":["sit"]}"#
        let dog = try decode(Dog.self, text)
        #expect(dog.name == "Rex" && dog.tricks == ["sit"])
        #expect(String(decoding: try CallableEncoder().encode(dog), as: UTF8.self) == text)
    }

    struct Flattened: Codable, Equatable {
        var x: Int
        var rest: [Int]

        private enum Outer: CodingKey { case place, list }
        private enum Inner: CodingKey { case x }

        init(x: Int, rest: [Int]) {
            self.x = x
            self.rest = rest
        }

        init(from decoder: any Decoder) throws {
            let outer = try decoder.container(keyedBy: Outer.self)
            x = try outer.nestedContainer(keyedBy: Inner.self, forKey: .place).decode(Int.self, forKey: .x)
            var list = try outer.nestedUnkeyedContainer(forKey: .list)
            var inner = try list.nestedUnkeyedContainer()
            rest = []
            while !inner.isAtEnd { rest.append(try inner.decodeNil() ? -1 : try inner.decode(Int.self)) }
            #expect(throws: DecodingError.self) { try inner.decode(Int.self) }
        }

        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: Outer.self)
            var place = outer.nestedContainer(keyedBy: Inner.self, forKey: .place)
            var list = outer.nestedUnkeyedContainer(forKey: .list)
            var inner = list.nestedUnkeyedContainer()
            // Filled after their places were given away, and in the other order.
            for number in rest { if number == -1 { try inner.encodeNil() } else { try inner.encode(number) } }
            try place.encode(x, forKey: .x)
        }
    }

    @Test func nestedContainersAreReadAndWritten() throws {
        let text = #"{"place":{"x":1},"list":[[2,null,3]]}"#
        let value = Flattened(x: 1, rest: [2, -1, 3])
        #expect(try decode(Flattened.self, text) == value)
        #expect(String(decoding: try CallableEncoder().encode(value), as: UTF8.self) == text)
    }

    struct Reopened: Encodable {
        private enum Outer: CodingKey { case place, list }
        private enum Inner: CodingKey { case x, y }

        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: Outer.self)
            for key in [Inner.x, .y] {
                var place = outer.nestedContainer(keyedBy: Inner.self, forKey: .place)
                var list = outer.nestedUnkeyedContainer(forKey: .list)
                try place.encode(1, forKey: key)
                try list.encode(key.stringValue)
            }
        }
    }

    @Test func aNestedContainerThatIsRequestedAgainGoesOn() throws {
        let text = #"{"place":{"x":1,"y":1},"list":["x","y"]}"#
        #expect(String(decoding: try CallableEncoder().encode(Reopened()), as: UTF8.self) == text)
    }
}
