/// A number as a tree holds it.
enum CodedNumber {
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)

    /// The same number as another type; nil where that type can't hold it exactly.
    func exactly<T: FixedWidthInteger>(_ type: T.Type) -> T? {
        switch self {
        case .integer(let value): T(exactly: value)
        case .unsigned(let value): T(exactly: value)
        case .double(let value): T(exactly: value)
        }
    }

    /// The nearest double.
    var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .unsigned(let value): Double(value)
        case .double(let value): value
        }
    }
}

enum NativeDecoding<T> {
    /// The tree has no form of its own for the type, which decodes itself.
    case foreign
    case value(T)
    /// The node can't be of the type: "an RFC 3339 time" was expected.
    case mismatch(expected: String)

    /// A value that is missing where the node didn't fit.
    static func required<Found>(_ found: Found?, _ expected: String) -> NativeDecoding<T> {
        guard let found else { return .mismatch(expected: expected) }
        guard let value = found as? T else { return .foreign }
        return .value(value)
    }
}

/// A value that is there even where its field is missing, such as a document's id.
protocol DecodableWhenMissing: Decodable {}
