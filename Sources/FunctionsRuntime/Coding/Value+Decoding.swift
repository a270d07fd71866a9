import DocumentModel
import StrictJSON
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Value {
    var codedNumber: CodedNumber? {
        switch self {
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        default: nil
        }
    }

    /// The value's type, for errors.
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "a boolean"
        case .integer: "an integer"
        case .double: "a number"
        case .timestamp: "a timestamp"
        case .string: "a string"
        case .bytes: "bytes"
        case .reference: "a reference"
        case .geoPoint: "a geo point"
        case .array: "an array"
        case .map: vectorElements == nil ? "a map" : "a vector"
        }
    }

    /// The value of a type that documents represent natively.
    func native<T>(_ type: T.Type, in context: DecodingContext) -> NativeDecoding<T> {
        if type == Timestamp.self { return .required(timestamp, "a timestamp") }
        if type == Date.self { return .required(timestamp?.dateValue(), "a timestamp") }
        if type == Data.self {
            guard case .bytes(let bytes) = self else { return .mismatch(expected: "bytes") }
            return .required(Data(bytes), "bytes")
        }
        if type == GeoPoint.self {
            guard case .geoPoint(let point) = self else { return .mismatch(expected: "a geo point") }
            return .required(point, "a geo point")
        }
        if type == VectorValue.self { return .required(VectorValue(stored: self), "a vector") }
        if type == DocumentReference.self {
            guard let firestore = context.firestore else {
                return .mismatch(expected: "a value that isn't a document reference, because there is no database")
            }
            guard case .reference(let name) = self else { return .mismatch(expected: "a reference") }
            return .required(DocumentReference(firestore: firestore, path: name.path), "a reference")
        }
        if type == URL.self {
            guard case .string(let text) = self else { return .mismatch(expected: "a URL") }
            return .required(URL(string: text), "a URL")
        }
        if type == Decimal.self {
            // As the type encodes itself, which earlier versions have stored.
            if case .map = self { return .foreign }
            return .decimal(codedNumber)
        }
        if type == JSONValue.self { return .required(JSONValue(self), "JSON") }
        return .foreign
    }

    private var timestamp: Timestamp? {
        guard case .timestamp(let value) = self else { return nil }
        return value
    }
}

extension JSONValue {
    /// The value as plain JSON: times in RFC 3339, bytes in base64, references as paths, geo points as objects. NaN and
    /// infinity are null, as in JavaScript's JSON.
    init(_ value: DocumentModel.Value) {
        switch value {
        case .null: self = .null
        case .boolean(let value): self = .bool(value)
        case .integer(let value): self = .integer(value)
        case .double(let value): self = value.isFinite ? .double(value) : .null
        case .timestamp(let value): self = .string(value.rfc3339)
        case .string(let value): self = .string(value)
        case .bytes(let value): self = .string(Base64.encode(value))
        case .reference(let value): self = .string(value.path.string)
        case .geoPoint(let value):
            self = ["latitude": .double(value.latitude), "longitude": .double(value.longitude)]
        case .array(let elements): self = .array(elements.map { JSONValue($0) })
        case .map(let fields):
            // Maps are unordered; sorting makes the output deterministic.
            self = .object(JSONObject(fields.sorted { $0.key < $1.key }.map { ($0.key, JSONValue($0.value)) }))
        }
    }
}
