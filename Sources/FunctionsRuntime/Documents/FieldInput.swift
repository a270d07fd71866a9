public import DocumentModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A value that can be written to a field or compared with one: strings, numbers, times, bytes, references, arrays,
/// maps, and ``FieldValue``.
///
///     try await order.updateData(["status": "paid", "total": 1200, "paidAt": FieldValue.serverTimestamp()])
///
/// A nested array or map with values of different types is written as `FieldValue.array([…])` or `FieldValue.map([…])`.
public protocol FieldInput: Sendable {
    var fieldValue: FieldValue { get }
}

extension FieldValue: FieldInput {
    public var fieldValue: FieldValue { self }
}

extension FieldValue {
    public static let null = FieldValue(.null)

    /// An array with values of different types.
    public static func array(_ elements: [any FieldInput]) -> FieldValue {
        FieldValue(content: .array(elements.map(\.fieldValue)))
    }

    /// A map with values of different types. Its keys are used unchanged, including dots.
    public static func map(_ fields: [String: any FieldInput]) -> FieldValue {
        FieldValue(content: .map(fields.mapValues(\.fieldValue)))
    }
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

extension String: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.string(self)) }
}

extension Timestamp: FieldInput {
    public var fieldValue: FieldValue { FieldValue(.timestamp(self)) }
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
