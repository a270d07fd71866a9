public import DocumentModel

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A time that the store sets: if it is nil when the document is written, it becomes the commit's time.
@propertyWrapper
public struct ServerTimestamp<Wrapped: ServerTimestampWrappable>: Sendable {
    public var wrappedValue: Wrapped?

    public init(wrappedValue: Wrapped?) { self.wrappedValue = wrappedValue }
}

/// The types of a ``ServerTimestamp``: a `Timestamp` or a `Date`.
public protocol ServerTimestampWrappable: Codable, Sendable {}

extension Timestamp: ServerTimestampWrappable {}
extension Date: ServerTimestampWrappable {}

extension ServerTimestamp: Equatable where Wrapped: Equatable {}
extension ServerTimestamp: Hashable where Wrapped: Hashable {}

extension ServerTimestamp: Codable, DecodableWhenMissing {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Wrapped.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if wrappedValue == nil, let encoder = encoder as? NodeEncoder, encoder.form == .document {
            try container.encode(FieldValue.serverTimestamp())
        } else {
            try container.encode(wrappedValue)
        }
    }
}
