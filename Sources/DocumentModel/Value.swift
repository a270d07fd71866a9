/// The value of a document's field.
///
/// Equality is exact (an integer never equals a double, NaN equals NaN, -0 equals 0), so that it tells whether a
/// write changes anything. Queries use ``Value/compare(_:_:)`` instead, where 1 equals 1.0.
public enum Value: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case timestamp(Timestamp)
    case string(String)
    case bytes([UInt8])
    case reference(DocumentName)
    case geoPoint(GeoPoint)
    case array([Value])
    case map([String: Value])
}

extension Value: Hashable {
    public static func == (a: Value, b: Value) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.double(let a), .double(let b)): a == b || (a.isNaN && b.isNaN)
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.string(let a), .string(let b)): TextBytes.equal(a, b)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        case (.geoPoint(let a), .geoPoint(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.map(let a), .map(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .boolean(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.isNaN ? .nan : value == 0 ? 0 : value)
        case .timestamp(let value): hasher.combine(value)
        case .string(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        case .reference(let value): hasher.combine(value)
        case .geoPoint(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value)
        }
    }
}
