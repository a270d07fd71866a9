#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A type that the text of a query's parameter, a form's field or a route's parameter can be read as. Enums of strings
/// needn't be one.
public protocol TextValue {
    /// - Returns: nil if the text isn't a value of the type.
    init?(text: String)
}

/// - Throws: ``HttpsError`` `invalidArgument` if the text isn't a value of the type.
func read<Value>(_ text: String, of name: String, _ convert: (String) -> Value?) throws -> Value {
    guard let value = convert(text) else {
        throw HttpsError(.invalidArgument, "\(name): expected \(Value.self), found \"\(text)\"")
    }
    return value
}

extension TextValue where Self: FixedWidthInteger {
    public init?(text: String) { self.init(text, radix: 10) }
}

extension Int: TextValue {}
extension Int32: TextValue {}
extension Int64: TextValue {}
extension UInt: TextValue {}
extension UInt32: TextValue {}
extension UInt64: TextValue {}

extension String: TextValue {
    public init?(text: String) { self = text }
}

extension Bool: TextValue {
    /// `true` or `false`.
    public init?(text: String) { self.init(text) }
}

extension Double: TextValue {
    /// A finite number.
    public init?(text: String) {
        guard let number = Double(text), number.isFinite else { return nil }
        self = number
    }
}

extension UUID: TextValue {
    public init?(text: String) { self.init(uuidString: text) }
}
