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
        // 3 + 1 + 16 for the name, 1 + 1 for the field's name, 1 for the text's end, 32 for the document.
        let room = DocumentLimits.maxDocumentBytes - 20 - 2 - 1 - 32
        #expect(try refusal(of: ["f": .string(String(repeating: "x", count: room))]) == nil)
        #expect(try refusal(of: ["f": .string(String(repeating: "x", count: room + 1))])?.contains("1 MiB") == true)
    }

    @Test func tooManyIndexEntriesAreRefused() throws {
        #expect(try refusal(of: ["f": .array(Array(repeating: .null, count: 39_998))]) == nil)
        #expect(try refusal(of: ["f": .array(Array(repeating: .null, count: 39_999))])?.contains("40,000") == true)
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
