import DocumentModel
import Testing

struct DocumentLimitsTests {
    private static func nested(_ depth: Int) -> [String: Value] {
        (0..<depth).reduce(["leaf": .null]) { inner, _ in ["m": .map(inner)] }
    }

    private func refusal(of fields: [String: Value]) throws -> String? {
        let path = try DocumentPath("a/b")
        do {
            try DocumentLimits.check(fields, of: path)
            return nil
        } catch {
            #expect(error.code == .invalidArgument)
            return error.message
        }
    }

    @Test func twentyLevelsAreFineAndOneMoreIsNot() throws {
        #expect(try refusal(of: Self.nested(20)) == nil)
        #expect(try refusal(of: Self.nested(21))?.contains("20 levels") == true)
    }

    @Test func sizeIsCountedAsFirestoreDoes() throws {
        // 3 + 1 + 16 for the name, 1 + 1 for the field's name, 1 for the text's end, 32 for the document; the other
        // field has 2 for its name, 1 for each of what is empty, and 8 for each number of the vector.
        let vector = Value.map([
            "__type__": .string("__vector__"), "value": .array([.double(1), .double(2)]),
        ])
        let other = Value.map(["a": .array([]), "m": .map([:]), "v": vector])
        let room = DocumentLimits.maxDocumentBytes - 20 - 2 - 1 - 32 - 2 - (3 * 2 + 1 + 1 + 16)
        func refusalFilling(_ count: Int) throws -> String? {
            let half = Value.string(String(repeating: "x", count: 500_000))
            // 2 for the field's name and 1 for the text's end once more.
            return try refusal(
                of: ["f": .string(String(repeating: "x", count: count - 500_000 - 3)), "g": half, "o": other])
        }
        #expect(try refusalFilling(room) == nil)
        #expect(try refusalFilling(room + 1)?.contains("1 MiB") == true)
    }

    @Test func oneValueLeavesRoomForTheRest() throws {
        func refusalOf(bytes: Int) throws -> String? {
            try refusal(of: ["f": .bytes(Array(repeating: 0, count: bytes))])
        }
        #expect(try refusalOf(bytes: 1_048_487) == nil)
        #expect(try refusalOf(bytes: 1_048_488)?.contains("1,048,487 bytes") == true)
    }

    @Test func pathsOfFieldsHaveABoundThroughArraysToo() throws {
        let name = String(repeating: "x", count: 1498)
        #expect(try refusal(of: ["m": .map([name: .null])]) == nil)
        #expect(try refusal(of: ["m": .map([name + "x": .null])])?.contains("path is longer") == true)
        #expect(try refusal(of: ["m": .array([.map([name + "x": .null])])])?.contains("path is longer") == true)
    }

    @Test func vectorsAreOneToManyDoubles() throws {
        func refusalOf(_ elements: [Value]) throws -> String? {
            try refusal(of: ["v": .map(["__type__": .string("__vector__"), "value": .array(elements)])])
        }
        #expect(try refusalOf(Array(repeating: .double(1), count: 2048)) == nil)
        #expect(try refusalOf(Array(repeating: .double(1), count: 2049))?.contains("2,048") == true)
        #expect(try refusalOf([])?.contains("2,048") == true)
        #expect(try refusalOf([.integer(1)])?.contains("double") == true)
        #expect(try refusalOf([.double(.nan)])?.contains("NaN") == true)
        let vector = Value.map(["__type__": .string("__vector__"), "value": .array([.double(1)])])
        #expect(try refusal(of: ["f": .array([vector])])?.contains("directly contains a vector") == true)
    }

    @Test(arguments: [(100, true), (101, false)])
    func collectionsAreWithinEachOtherSoDeep(collections: Int, isTaken: Bool) throws {
        let path = try DocumentPath(Array(repeating: "a/b", count: collections).joined(separator: "/"))
        let reference = Value.reference(DocumentName(database: DatabaseID(project: "demo"), path: path))
        let fields: [String: Value] = ["f": .array([.map(["r": reference])])]
        guard !isTaken else {
            try DocumentLimits.check([:], of: path)
            #expect(try refusal(of: fields) == nil)
            return
        }
        let error = #expect(throws: DocumentError.self) { try DocumentLimits.check([:], of: path) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("101 collections") == true)
        #expect(try refusal(of: fields)?.contains("101 collections") == true)
    }

    @Test func tooManyIndexEntriesAreRefused() throws {
        #expect(try refusal(of: ["f": .array(Array(repeating: .null, count: 39_998))]) == nil)
        #expect(try refusal(of: ["f": .array(Array(repeating: .null, count: 39_999))])?.contains("40,000") == true)
    }

    @Test func theDocumentsNameCountsForEachIndexEntry() throws {
        let fields: [String: Value] = ["f": .array(Array(repeating: .null, count: 2000))]
        #expect(try refusal(of: fields) == nil)
        let path = try DocumentPath(
            Array(repeating: String(repeating: "n", count: 1500), count: 4).joined(separator: "/"))
        let error = #expect(throws: DocumentError.self) { try DocumentLimits.check(fields, of: path) }
        #expect(error?.message.contains("8 MiB") == true)
    }

    @Test(arguments: [
        ("", "empty"), ("__x__", "reserved"), (String(repeating: "n", count: 1501), "1,500"),
    ])
    func badFieldNamesAreRefused(name: String, reason: String) throws {
        #expect(try refusal(of: [name: .null])?.contains(reason) == true)
        #expect(try refusal(of: ["m": .map([name: .null])])?.contains(reason) == true)
    }

    @Test(arguments: [
        (Value.geoPoint(GeoPoint(latitude: 91, longitude: 0)), "geo point"),
        (.geoPoint(GeoPoint(latitude: .nan, longitude: 0)), "geo point"),
        (.timestamp(Timestamp(seconds: 253_402_300_800, nanoseconds: 0)), "timestamp"),
        (.array([.array([])]), "directly contains"),
        (.map(["__type__": .string("__vector__"), "value": .array([.null])]), "vector"),
    ])
    func badValuesAreRefused(value: Value, reason: String) throws {
        #expect(try refusal(of: ["f": value])?.contains(reason) == true)
    }
}
