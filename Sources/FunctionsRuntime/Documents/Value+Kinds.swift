public import DocumentModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The value as a Swift type, as ``JSONValue`` has it: nil if it is of another kind.
extension Value {
    public var isNull: Bool { self == .null }

    public var boolValue: Bool? { if case .boolean(let value) = self { value } else { nil } }

    /// An integer that fits, whether stored as `1` or `1.0`.
    public var intValue: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    public var timestampValue: Timestamp? { if case .timestamp(let value) = self { value } else { nil } }
    public var dateValue: Date? { timestampValue?.dateValue() }
    public var dataValue: Data? { if case .bytes(let value) = self { Data(value) } else { nil } }
    public var geoPointValue: GeoPoint? { if case .geoPoint(let value) = self { value } else { nil } }
    public var vectorValue: VectorValue? { VectorValue(stored: self) }

    /// The path of a referenced document: `users/ada`. To get a reference, decode ``DocumentReference``.
    public var referencePath: String? { if case .reference(let value) = self { value.path.string } else { nil } }

    public var arrayValue: [Value]? { if case .array(let value) = self { value } else { nil } }
    public var mapValue: [String: Value]? { if case .map(let value) = self { value } else { nil } }

    /// The entry of a map; nil if there is none, or if this isn't a map.
    public subscript(key: String) -> Value? { mapValue?[key] }

    /// The element of an array; nil if there is none, or if this isn't an array.
    public subscript(index: Int) -> Value? {
        guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}
