#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A number in a tree.
enum CodedNumber {
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)

    /// The number as another type; nil if that type can't represent it exactly.
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

    /// The decimal number with the number's own digits, 0.1 for 0.1; nil if a `Decimal` can't hold it.
    var decimal: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .unsigned(let value): Decimal(value)
        // Of "-inf" and "-nan", Foundation reads the sign alone, as 0.
        case .double(let value): value.isFinite ? Decimal(string: "\(value)") : nil
        }
    }
}

extension Decimal {
    /// The double with these digits, or the nearest one.
    var nearestDouble: Double { Double("\(self)") ?? .nan }
}

enum NativeDecoding<T> {
    /// The tree has no native representation of the type, which decodes itself.
    case foreign
    case value(T)
    /// The node can't be decoded as the type: "an RFC 3339 time" was expected.
    case mismatch(expected: String)

    /// A required value; if it is nil, the node doesn't match the type.
    static func required<Found>(_ found: Found?, _ expected: String) -> NativeDecoding<T> {
        guard let found else { return .mismatch(expected: expected) }
        guard let value = found as? T else { return .foreign }
        return .value(value)
    }

    /// A `Decimal`, which is a number in both trees.
    static func decimal(_ number: CodedNumber?) -> NativeDecoding<T> {
        guard let number else { return .mismatch(expected: "a number") }
        return .required(number.decimal, "a number that a Decimal can hold")
    }
}

/// A value that exists even if its field is missing, such as a document's id.
protocol DecodableWhenMissing: Decodable {}

/// A collection. The Realtime Database keeps nothing of an empty one.
protocol EmptyWhenMissing {
    init()
}

extension Array: EmptyWhenMissing {}
extension Dictionary: EmptyWhenMissing {}
extension Set: EmptyWhenMissing {}
