/// The value of a document's field.
///
/// Equality is exact (an integer never equals a double, NaN equals NaN, -0.0 doesn't equal 0.0), so that it tells
/// whether a write changes anything. Queries use ``Value/compare(_:_:)`` instead, where 1 equals 1.0.
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
        case (.double(let a), .double(let b)): isSame(a, b)
        case (.timestamp(let a), .timestamp(let b)): a == b
        case (.string(let a), .string(let b)): TextBytes.equal(a, b)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        case (.geoPoint(let a), .geoPoint(let b)):
            isSame(a.latitude, b.latitude) && isSame(a.longitude, b.longitude)
        case (.array(let a), .array(let b)): a == b
        case (.map(let a), .map(let b)): a.count == b.count && a.allSatisfy { b.member($0.key) == $0.value }
        default: false
        }
    }

    private static func isSame(_ a: Double, _ b: Double) -> Bool { exact(a) == exact(b) }

    /// The same bits for each NaN.
    private static func exact(_ number: Double) -> UInt64 { (number.isNaN ? .nan : number).bitPattern }

    public func hash(into hasher: inout Hasher) {
        // The case too: otherwise lists of a few different values could be made that all have the same hash.
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .boolean(let value): combine(1, value, into: &hasher)
        case .integer(let value): combine(2, value, into: &hasher)
        case .double(let value): combine(3, Self.exact(value), into: &hasher)
        case .timestamp(let value): combine(4, value, into: &hasher)
        case .string(let value):
            hasher.combine(5 as UInt8)
            TextBytes.hash(value, into: &hasher)
        case .bytes(let value): combine(6, value, into: &hasher)
        case .reference(let value): combine(7, value, into: &hasher)
        case .geoPoint(let value):
            combine(8, Self.exact(value.latitude), into: &hasher)
            hasher.combine(Self.exact(value.longitude))
        case .array(let value): combine(9, value, into: &hasher)
        case .map(let value): combine(10, value, into: &hasher)
        }
    }

    private func combine(_ kind: UInt8, _ content: some Hashable, into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(content)
    }
}
