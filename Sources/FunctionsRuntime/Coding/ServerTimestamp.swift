public import DocumentModel
import StrictJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A time that the store sets: if it is nil when the document is written, it becomes the commit's time. In the Realtime
/// Database it is a number, the milliseconds since 1970, as on iOS.
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
        if container.decodeNil() {
            wrappedValue = nil
        } else if let time = Self.realtime(decoder) {
            wrappedValue = time
        } else {
            wrappedValue = try container.decode(Wrapped.self)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let form = (encoder as? NodeEncoder)?.form
        if wrappedValue == nil, form == .document {
            try container.encode(FieldValue.serverTimestamp())
        } else if wrappedValue == nil, form == .realtime {
            try container.encode(ServerValue.timestamp())
        } else if form == .realtime, let milliseconds {
            try container.encode(milliseconds)
        } else {
            try container.encode(wrappedValue)
        }
    }

    /// Nil if the time is not within years 1 to 9999.
    private var milliseconds: Int64? {
        let time: Timestamp? =
            switch wrappedValue {
            case let time as Timestamp: time
            case let date as Date: Timestamp(exactly: date)
            default: nil
            }
        guard let time, time.isInRange else { return nil }
        return time.microseconds / 1000
    }

    /// The time that a number of the Realtime Database is; nil if it isn't one. Earlier versions have stored RFC 3339
    /// texts, which the type decodes itself.
    private static func realtime(_ decoder: any Decoder) -> Wrapped? {
        guard let decoder = decoder as? NodeDecoder, decoder.context.isRealtime,
            let milliseconds = decoder.node.number?.exactly(Int64.self)
        else { return nil }
        let time = Timestamp(milliseconds: milliseconds)
        return time as? Wrapped ?? time.dateValue() as? Wrapped
    }
}
