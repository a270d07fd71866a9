import DocumentModel
@testable import GoogleREST
@testable import FirestoreJSON
import NIOCore
import StrictJSON
import Testing

struct RESTValueTests {
    private static func name(_ path: String) throws -> DocumentName {
        DocumentName(database: DatabaseID(project: "demo-shop"), path: try DocumentPath(path))
    }

    private static func read(_ text: String) throws -> Value { try JSONNode(parsing: Array(text.utf8)).value() }

    @Test(arguments: [
        (Value.null, #"{"nullValue":null}"#),
        (.boolean(true), #"{"booleanValue":true}"#),
        (.integer(.min), #"{"integerValue":"-9223372036854775808"}"#),
        (.double(1.5), #"{"doubleValue":1.5}"#),
        (.double(.nan), #"{"doubleValue":"NaN"}"#),
        (.double(.infinity), #"{"doubleValue":"Infinity"}"#),
        (.double(-.infinity), #"{"doubleValue":"-Infinity"}"#),
        (
            .timestamp(Timestamp(seconds: 0, nanoseconds: 123_456_000)),
            #"{"timestampValue":"1970-01-01T00:00:00.123456Z"}"#
        ),
        (.string("a\"é\n"), #"{"stringValue":"a\"é\n"}"#),
        (.bytes([0xFB, 0xFF]), #"{"bytesValue":"+/8="}"#),
        (.geoPoint(GeoPoint(latitude: 1, longitude: -2.5)), #"{"geoPointValue":{"latitude":1.0,"longitude":-2.5}}"#),
        (.array([]), #"{"arrayValue":{"values":[]}}"#),
        (.array([.integer(1), .null]), #"{"arrayValue":{"values":[{"integerValue":"1"},{"nullValue":null}]}}"#),
        (.map([:]), #"{"mapValue":{"fields":{}}}"#),
        (
            .map(["b": .null, "a": .map([:])]),
            #"{"mapValue":{"fields":{"a":{"mapValue":{"fields":{}}},"b":{"nullValue":null}}}}"#
        ),
    ])
    func valuesAreWrittenAndReadBack(value: Value, text: String) throws {
        var written = JSONWriter()
        written.value(value)
        #expect(String(decoding: written.bytes, as: UTF8.self) == text)
        #expect(try Self.read(text) == value)
    }

    @Test func referencesAreFullNames() throws {
        let text = #"{"referenceValue":"projects/demo-shop/databases/(default)/documents/users/ada"}"#
        var written = JSONWriter()
        written.value(.reference(try Self.name("users/ada")))
        #expect(String(decoding: written.bytes, as: UTF8.self) == text)
        #expect(try Self.read(text) == .reference(try Self.name("users/ada")))
    }

    @Test(arguments: [
        (#"{"integerValue":7}"#, Value.integer(7)),
        (#"{"integerValue":7.0}"#, .integer(7)),
        (#"{"doubleValue":7}"#, .double(7)),
        (#"{"doubleValue":"1e3"}"#, .double(1000)),
        (#"{"nullValue":"NULL_VALUE"}"#, .null),
        (#"{"bytesValue":"-_8"}"#, .bytes([0xFB, 0xFF])),
        (
            #"{"timestampValue":"1970-01-01T00:00:00.123456789Z"}"#,
            .timestamp(Timestamp(seconds: 0, nanoseconds: 123_456_789))
        ),
        (#"{"arrayValue":{}}"#, .array([])),
        (#"{"mapValue":{}}"#, .map([:])),
        (#"{"geoPointValue":{"latitude":1}}"#, .geoPoint(GeoPoint(latitude: 1, longitude: 0))),
    ])
    func alternativeFormsOfClientsAreRead(text: String, value: Value) throws {
        #expect(try Self.read(text) == value)
    }

    @Test(arguments: [
        (#"{"fields":{"stock":{"integerValue":"x"}}}"#, #"fields.stock.integerValue: "x" is not a 64-bit integer"#),
        (#"{"fields":{"a":{"integerValue":1.5}}}"#, "fields.a.integerValue: 1.5 is not a 64-bit integer"),
        (
            #"{"fields":{"a":{"integerValue":"9223372036854775808"}}}"#,
            #"fields.a.integerValue: "9223372036854775808" is not a 64-bit integer"#
        ),
        (#"{"fields":{"a":{"doubleValue":"nan"}}}"#, #"fields.a.doubleValue: "nan" is not a double"#),
        (#"{"fields":{"a":{}}}"#, "fields.a: a value needs a type, such as stringValue"),
        (
            #"{"fields":{"a":{"stringValue":"","nullValue":null}}}"#,
            "fields.a: a value must have one type; this one has 2: stringValue, nullValue"
        ),
        (#"{"fields":{"a":{"text":""}}}"#, "fields.a.text: this is not the type of a value"),
        (#"{"fields":{"a":7}}"#, #"fields.a: 7 is not a value; write {"TYPE": …}"#),
        (#"{"fields":{"a":null}}"#, #"fields.a: null is not a value; write {"TYPE": …}"#),
        (
            #"{"fields":{"a":{"mapValue":{"fields":{"b":null}}}}}"#,
            #"fields.a.mapValue.fields.b: null is not a value; write {"TYPE": …}"#
        ),
        (#"{"fields":{"a":{"booleanValue":"true"}}}"#, #"fields.a.booleanValue: "true" is not a boolean"#),
        (#"{"fields":{"a":{"bytesValue":"a"}}}"#, "fields.a.bytesValue: not valid base64"),
        (
            #"{"fields":{"a":{"timestampValue":"now"}}}"#,
            #"fields.a.timestampValue: "now" is not an RFC 3339 timestamp, such as 2026-01-02T03:04:05.678901Z"#
        ),
        (
            #"{"fields":{"a":{"geoPointValue":{"latitude":91}}}}"#,
            "fields.a.geoPointValue: latitude must be -90 … 90, longitude -180 … 180"
        ),
        (
            #"{"fields":{"a":{"arrayValue":{"values":[{"nullValue":null},{"nullValue":0}]}}}}"#,
            "fields.a.arrayValue.values[1].nullValue: 0 is not null"
        ),
        (#"{"fields":{"a":{"mapValue":{"field":{}}}}}"#, "fields.a.mapValue.field: unknown key"),
    ])
    func malformedValuesAreRefusedWithTheirPath(text: String, message: String) throws {
        let body = RESTBody(ByteBuffer(string: text))
        #expect(throws: DocumentError.invalidArgument(message)) {
            try body.read { (root) throws(JSONProblem) in try root["fields"]?.fields() }
        }
    }
}
