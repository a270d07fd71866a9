import DocumentModel
import WorkerProtocol
import Foundation
import FunctionsRuntime
import Testing

@Suite struct DocumentCoderTests {
    private let reference = Firestore(transport: ScriptedTransport()).document("shops/s1/items/i1")

    struct Everything: Codable, Equatable, Sendable {
        @DocumentID var id: String?
        @DocumentID var ref: DocumentReference?
        var bool = true
        var int = 5
        var small: Int8 = -1
        var double = 1.5
        var text = "x"
        var absent: String?
        @ExplicitNull var explicit: String?
        var list: [Int?] = [1, nil]
        var map = ["a": ["b": 1.0]]
        var time = Timestamp(seconds: 1, nanoseconds: 2000)
        var date = Date(timeIntervalSince1970: 1.5)
        var data = Data([1, 2])
        var place = GeoPoint(latitude: 1, longitude: 2)
        var friend: DocumentReference
        var url = URL(string: "https://shop.example/")
        var json: JSONValue = ["a": [1, nil]]
        @ServerTimestamp var at: Timestamp? = Timestamp(seconds: 3, nanoseconds: 0)
    }

    private func fields(_ value: some Encodable) async throws -> [String: Value] {
        let transport = ScriptedTransport([.committed(1)])
        try await Firestore(transport: transport).document("a/b").setData(from: value)
        guard case .commit(let writes, _, _, _)? = transport.requests.first, case .set(let fields) = writes[0].operation
        else { return [:] }
        return fields
    }

    @Test func everyTypeHasItsOwnValueAndComesBack() async throws {
        let friend = reference.parent.document("i2")
        let value = Everything(id: "i1", ref: reference, friend: friend)
        let fields = try await self.fields(value)
        let name = DocumentName(database: DatabaseID(project: "demo-test"), path: try DocumentPath(friend.path))
        #expect(
            fields == [
                "bool": .boolean(true), "int": 5, "small": -1, "double": .double(1.5), "text": .string("x"),
                "explicit": .null, "list": .array([1, .null]), "map": .map(["a": .map(["b": .double(1)])]),
                "time": .timestamp(Timestamp(seconds: 1, nanoseconds: 2000)),
                "date": .timestamp(Timestamp(seconds: 1, nanoseconds: 500_000_000)), "data": .bytes([1, 2]),
                "place": .geoPoint(GeoPoint(latitude: 1, longitude: 2)), "friend": .reference(name),
                "url": .string("https://shop.example/"), "json": .map(["a": .array([1, .null])]),
                "at": .timestamp(Timestamp(seconds: 3, nanoseconds: 0)),
            ])
        #expect(try DocumentDecoder().decode(Everything.self, from: fields, in: reference) == value)
    }

    @Test func serverFillsInAMissingTimeWhereverItStands() async throws {
        struct Inner: Encodable { @ServerTimestamp var at: Date? }
        struct Outer: Encodable {
            var inner = Inner(at: nil)
            @ServerTimestamp var at: Timestamp?
        }
        let transport = ScriptedTransport([.committed(1)])
        try await Firestore(transport: transport).document("a/b").setData(from: Outer(), merge: true)
        let expected = Write(
            path: try DocumentPath("a/b"), operation: .update(["inner": .map([:])], mask: []),
            transforms: [
                FieldTransform(try FieldPath("at"), .serverTimestamp),
                FieldTransform(try FieldPath("inner.at"), .serverTimestamp),
            ])
        #expect(transport.requests == [.commit([expected], transaction: nil, completing: nil)])
    }

    @Test func wrappersAreFilledWhereTheirFieldIsMissing() throws {
        struct Wrapped: Decodable {
            @DocumentID var id: String?
            @ServerTimestamp var at: Date?
            @ExplicitNull var note: String?
        }
        let value = try DocumentDecoder().decode(Wrapped.self, from: ["id": .string("other")], in: reference)
        #expect(value.id == "i1" && value.at == nil && value.note == nil)
        #expect(try DocumentDecoder().decode(Wrapped.self, from: [:]).id == nil)
    }

    @Test func callablesSeeWrappedPropertiesAsPlainValues() throws {
        struct Item: Codable, Equatable {
            @DocumentID var id: String?
            @ServerTimestamp var at: Timestamp?
            @ExplicitNull var note: String?
        }
        let item = Item(id: "i1", at: Timestamp(seconds: 0, nanoseconds: 0), note: nil)
        let bytes = try CallableEncoder().encode(item)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"id":"i1","at":"1970-01-01T00:00:00Z","note":null}"#)
        #expect(try CallableDecoder().decode(Item.self, from: bytes) == item)
        #expect(try CallableDecoder().decode(Item.self, from: Array("{}".utf8)) == Item(id: nil, at: nil, note: nil))
    }

    @Test func referencesCrossCallablesAsPaths() throws {
        let bytes = try CallableEncoder().encode([reference])
        #expect(String(decoding: bytes, as: UTF8.self) == #"["shops/s1/items/i1"]"#)
        let decoder = CallableDecoder(firestore: reference.firestore)
        #expect(try decoder.decode([DocumentReference].self, from: bytes) == [reference])
        let full = Array(#"["projects/demo-test/databases/(default)/documents/shops/s1/items/i1"]"#.utf8)
        #expect(try decoder.decode([DocumentReference].self, from: full) == [reference])
        for text in [#"["shops"]"#, #"["projects/other/databases/(default)/documents/a/b"]"#, "[1]"] {
            #expect(throws: DecodingError.self) { try decoder.decode([DocumentReference].self, from: Array(text.utf8)) }
        }
        #expect(throws: DecodingError.self) { try CallableDecoder().decode([DocumentReference].self, from: bytes) }
    }

    @Test func numbersConvertWhereNothingIsLost() throws {
        struct Number<T: Decodable>: Decodable { var n: T }
        func decode<T: Decodable>(_ type: T.Type, _ value: Value) throws -> T {
            let number = try DocumentDecoder().decode(Number<T>.self, from: ["n": value])
            return number.n
        }
        #expect(try decode(Double.self, 3) == 3)
        #expect(try decode(Int.self, .double(3)) == 3)
        #expect(try decode(UInt8.self, 255) == 255)
        #expect(throws: DecodingError.self) { try decode(Int.self, .double(3.5)) }
        #expect(throws: DecodingError.self) { try decode(UInt8.self, 256) }
        #expect(throws: DecodingError.self) { try decode(Int.self, .string("3")) }
    }

    @Test func vectorsAreStoredAsVectors() async throws {
        struct Item: Codable, Equatable {
            var embedding: VectorValue
            var older: [String: VectorValue] = [:]
            var none: VectorValue?
        }
        let item = Item(embedding: FieldValue.vector([1.5, -0.5]), older: ["a": VectorValue([Float(0.25)])])
        let fields = try await self.fields(item)
        #expect(fields == ["embedding": .vector([1.5, -0.5]), "older": .map(["a": .vector([0.25])])])
        #expect(try DocumentDecoder().decode(Item.self, from: fields) == item)
        // A callable's client sees what the iOS SDK encodes.
        let bytes = try CallableEncoder().encode(item.embedding)
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"array":[1.5,-0.5]}"#)
        #expect(try CallableDecoder().decode(VectorValue.self, from: bytes) == item.embedding)

        func refusal(_ value: Value) -> String? {
            let error = #expect(throws: DecodingError.self) {
                try DocumentDecoder().decode(Item.self, from: ["embedding": value, "older": .map([:])])
            }
            guard case .typeMismatch(_, let context)? = error else { return nil }
            return context.debugDescription
        }
        #expect(refusal(.array([.double(1)])) == "expected a vector, found an array")
        #expect(refusal(.map(["value": .array([])])) == "expected a vector, found a map")
        let list = #expect(throws: DecodingError.self) {
            try DocumentDecoder().decode([String: [Double]].self, from: ["v": .vector([1])])
        }
        guard case .typeMismatch(_, let context)? = list else {
            Issue.record("\(String(describing: list))")
            return
        }
        #expect(context.debugDescription == "expected an array, found a vector")
    }

    @Test(arguments: [[], [Double](repeating: 0, count: 2049), [0, .nan]]) func otherVectorsAreNotEncoded(
        _ array: [Double]
    ) {
        struct Item: Encodable { var embedding: VectorValue }
        let error = #expect(throws: EncodingError.self) {
            try DocumentEncoder().encode(Item(embedding: VectorValue(array)))
        }
        guard case .invalidValue(_, let context)? = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["embedding"])
    }

    @Test func decimalsAreDoubles() async throws {
        struct Item: Codable, Equatable {
            var price: Decimal
            var discounts: [String: Decimal] = ["summer": 2]
            var old: Decimal?
        }
        let item = Item(price: try #require(Decimal(string: "19.99")))
        let fields = try await self.fields(item)
        #expect(fields == ["price": .double(19.99), "discounts": .map(["summer": .double(2)])])
        #expect(try DocumentDecoder().decode(Item.self, from: fields) == item)
        let whole = try DocumentDecoder().decode(Item.self, from: ["price": 20, "discounts": .map([:]), "old": .null])
        #expect(whole == Item(price: 20, discounts: [:]))
        // In a literal and in a query, too.
        let transport = ScriptedTransport([.committed(1)])
        try await Firestore(transport: transport).document("a/b").updateData(["price": item.price])
        let changed = Write.Operation.update(["price": .double(19.99)], mask: [try FieldPath("price")])
        let expected = Write(path: try DocumentPath("a/b"), operation: changed, precondition: .exists(true))
        #expect(transport.requests == [.commit([expected], transaction: nil, completing: nil)])
        let query = Firestore(transport: transport).collection("items").whereField("price", isLessThan: item.price)
        let filter = DocumentModel.Query.Filter.field(try FieldPath("price"), .lessThan, .double(19.99))
        #expect(try query.resolved().model.filter == filter)
    }

    @Test func whatNoDecimalCanHoldIsRefused() {
        for number in [Double.infinity, -.infinity, .nan, -.nan, .greatestFiniteMagnitude, .leastNonzeroMagnitude] {
            let error = #expect(throws: DecodingError.self) {
                try DocumentDecoder().decode([String: Decimal].self, from: ["price": .double(number)])
            }
            #expect(error?.explanation == "price: expected a number that a Decimal can hold, found a number")
        }
    }

    /// As the type encodes itself.
    @Test func decimalsOfEarlierVersionsAreRead() throws {
        let mantissa = Value.array([1999, 0, 0, 0, 0, 0, 0, 0].map { .integer($0) })
        let stored: [String: Value] = [
            "exponent": -2, "length": 1, "isNegative": .boolean(false), "isCompact": .boolean(true),
            "mantissa": mantissa,
        ]
        let decoded = try DocumentDecoder().decode([String: Decimal].self, from: ["price": .map(stored)])
        #expect(decoded["price"] == Decimal(string: "19.99"))
    }

    @Test func errorNamesDocumentAndField() throws {
        struct Line: Decodable { var quantity: Int }
        struct Order: Decodable { var lines: [Line] }
        let fields: [String: Value] = ["lines": .array([.map(["quantity": .timestamp(DocumentResponse.time)])])]
        let error = #expect(throws: DecodingError.self) {
            try DocumentDecoder().decode(Order.self, from: fields, in: reference)
        }
        #expect(
            error?.explanation == "shops/s1/items/i1.lines[0].quantity: expected an integer, found a timestamp")
    }

    @Test func whatIsNoDocumentIsRefused() {
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode("text") }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode([1]) }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(["n": UInt64.max]) }
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(["d": Date(timeIntervalSince1970: .nan)]) }
    }

    @Test func changesCanBeEncoded() async throws {
        struct Patch: Encodable { var stock = FieldValue.increment(-1) }
        let fields = try DocumentEncoder().encode(Patch())
        #expect(fields == ["stock": FieldValue.increment(-1)])
    }

    @Test func documentReadAsJSON() throws {
        let value = try DocumentDecoder().decode(
            JSONValue.self,
            from: [
                "t": .timestamp(Timestamp(seconds: 0, nanoseconds: 0)), "b": .bytes([255]),
                "g": .geoPoint(GeoPoint(latitude: 1, longitude: 2)),
            ])
        #expect(value == ["b": "/w==", "g": ["latitude": 1.0, "longitude": 2.0], "t": "1970-01-01T00:00:00Z"])
    }
}
