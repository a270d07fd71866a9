import DocumentModel
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension FieldValue {
    /// A type that documents represent natively.
    static func native<T>(_ value: T) -> NativeEncoding {
        if T.self == FieldValue.self, let field = value as? FieldValue { return .field(field) }
        if T.self == Value.self, let value = value as? Value { return .field(FieldValue(value)) }
        if T.self == JSONObject.self, let object = value as? JSONObject { return .json(.object(object)) }
        if T.self == Timestamp.self, let time = value as? Timestamp { return .field(time.fieldValue) }
        if T.self == Date.self, let date = value as? Date {
            return Timestamp(exactly: date).map { .field($0.fieldValue) }
                ?? .failure("the time is not within years 1 to 9999")
        }
        if T.self == Data.self, let data = value as? Data { return .field(data.fieldValue) }
        if T.self == GeoPoint.self, let point = value as? GeoPoint { return .field(point.fieldValue) }
        if T.self == VectorValue.self, let vector = value as? VectorValue {
            return vector.problem.map { .failure($0.message) } ?? .field(vector.fieldValue)
        }
        if T.self == DocumentReference.self, let reference = value as? DocumentReference {
            return .field(reference.fieldValue)
        }
        if T.self == URL.self, let url = value as? URL { return .json(.string(url.absoluteString)) }
        if T.self == Decimal.self, let number = value as? Decimal { return .field(number.fieldValue) }
        return .foreign
    }

    /// The field value of an encoded type.
    init(node: EncodedNode) {
        switch node {
        case .json(let value): self.init(json: value)
        case .array(let elements): self.init(content: .array(elements.map { FieldValue(node: $0) }))
        case .map(let fields):
            let pairs = fields.entries.map { ($0.key, FieldValue(node: $0.value)) }
            self.init(content: .map(Dictionary(pairs, uniquingKeysWith: { _, last in last })))
        case .field(let field): self = field
        }
    }

    init(json value: JSONValue) {
        switch value {
        case .null: self.init(.null)
        case .bool(let value): self.init(.boolean(value))
        case .integer(let value): self.init(.integer(value))
        case .unsigned(let value):
            self.init(content: .invalid(.invalidArgument("\(value) doesn't fit 64 bits with a sign")))
        case .double(let value): self.init(.double(value))
        case .string(let value): self.init(.string(value))
        case .array(let elements): self.init(content: .array(elements.map { FieldValue(json: $0) }))
        case .object(let object):
            let pairs = object.map { ($0.key, FieldValue(json: $0.value)) }
            let fields = Dictionary(pairs, uniquingKeysWith: { _, last in last })
            guard fields.count == pairs.count else {
                self.init(content: .invalid(.invalidArgument("a map has one name in two Unicode forms")))
                return
            }
            self.init(content: .map(fields))
        }
    }
}
