public import DocumentModel
public import StrictJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A value that can be written to a field or compared with one: strings, numbers, times, bytes, references, vectors,
/// JSON, arrays, maps, and ``FieldValue``.
///
/// Fields that are written, and arrays and maps in them, may also be nil, which is null, and `Encodable` values, which
/// become maps as in `setData(from:)`:
///
///     try await order.updateData([
///         "status": "paid", "paidAt": FieldValue.serverTimestamp(), "note": nil, "address.city": "Kyoto",
///         "lines": [["product": "tea", "price": 1200, "tags": ["green", 1]]],
///     ])
///
/// A value of another type fails with `invalidArgument` and the field's name when it is written.
public protocol FieldInput: Sendable {
    var fieldValue: FieldValue { get }
}

extension FieldValue: FieldInput {
    public var fieldValue: FieldValue { self }
}

extension FieldValue {
    public static let null = FieldValue(.null)

    /// An array with values of different types.
    public static func array(_ elements: [Any?]) -> FieldValue {
        FieldValue(content: .array(elements.map { FieldValue(any: $0) }))
    }

    /// A map with values of different types. Its keys are used unchanged, including dots.
    public static func map(_ fields: [String: Any?]) -> FieldValue {
        FieldValue(content: .map(fields.mapValues { FieldValue(any: $0) }))
    }
}

extension FieldValue {
    /// The value of a field in a literal; invalid if it has a type that documents don't store.
    init(any value: Any?) {
        switch value {
        case nil: self = .null
        case let value as String: self = value.fieldValue
        case let value as Int: self = value.fieldValue
        case let value as FieldValue: self = value
        // By its exact type: an empty array of any type casts to bytes.
        case let value? where type(of: value) == [UInt8].self: self.init(.bytes(value as? [UInt8] ?? []))
        case let value as any FieldInput: self = value.fieldValue
        case let fields as [String: Any]: self = .map(fields)
        case let elements as [Any]: self = .array(elements)
        case let value as any OptionalValue: self.init(any: value.wrapped)
        case let value as any Encodable: self.init(encoding: value)
        case let value?:
            self.init(
                content: .invalid(
                    .invalidArgument("a field can't store a value of type \(type(of: value)); make it Encodable")))
        }
    }

    private init(encoding value: any Encodable) {
        do {
            self = try DocumentEncoder().encode(field: value)
        } catch let error as EncodingError {
            self.init(content: .invalid(.invalidArgument(error.explanation)))
        } catch {
            self.init(content: .invalid(.invalidArgument("\(error)")))
        }
    }
}

/// An optional whose type is only known at run time.
protocol OptionalValue {
    static var nothing: Self { get }
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    static var nothing: Wrapped? { nil }
    var wrapped: Any? { self }
}

extension JSONValue: FieldInput {
    /// Whole numbers beyond Int64's range can't be stored.
    public var fieldValue: FieldValue { FieldValue(json: self) }
}

extension Value: FieldInput {
    public var fieldValue: FieldValue { FieldValue(self) }
}

extension Bool: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.boolean(self)) }
}

extension Int: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.integer(Int64(self))) }
}

extension Int32: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.integer(Int64(self))) }
}

extension Int64: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.integer(self)) }
}

extension Double: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.double(self)) }
}

extension Float: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.double(Double(self))) }
}

extension Decimal: FieldInput {
    /// As a double, or the nearest one.
    public var fieldValue: FieldValue { FieldValue(.double(nearestDouble)) }
}

extension String: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.string(self)) }
}

extension Substring: FieldInput {
    public var fieldValue: FieldValue { String(self).fieldValue }
}

extension Timestamp: FieldInput {
    public var fieldValue: FieldValue {
        guard isInRange else {
            return FieldValue(content: .invalid(.invalidArgument("a timestamp is not within years 1 to 9999")))
        }
        return FieldValue(.timestamp(self))
    }
}

extension Date: FieldInput {
    public var fieldValue: FieldValue {
        guard let timestamp = Timestamp(exactly: self) else {
            return FieldValue(content: .invalid(.invalidArgument("a date is not within years 1 to 9999")))
        }
        return timestamp.fieldValue
    }
}

extension Data: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.bytes(Array(self))) }
}

extension GeoPoint: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.geoPoint(self)) }
}

extension DocumentReference: FieldInput {
    public var fieldValue: FieldValue {
        do {
            let name = DocumentName(database: firestore.transport.database, path: try validPath())
            return FieldValue(.reference(name))
        } catch {
            return FieldValue(content: .invalid(error))
        }
    }
}

extension Optional: FieldInput where Wrapped: FieldInput {
    /// Null if nil.
    public var fieldValue: FieldValue { self?.fieldValue ?? .null }
}

extension Array: FieldInput where Element: FieldInput {
    public var fieldValue: FieldValue { FieldValue(content: .array(map(\.fieldValue))) }
}

extension Dictionary: FieldInput where Key == String, Value: FieldInput {
    public var fieldValue: FieldValue { FieldValue(content: .map(mapValues(\.fieldValue))) }
}
