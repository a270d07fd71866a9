/// A property with the document's id or reference, which isn't a field.
///
/// It is set when a document is decoded, and omitted when one is encoded. Other coders treat it as a plain value, so a
/// callable can return the same type.
@propertyWrapper
public struct DocumentID<Wrapped: DocumentIDWrappable>: Sendable {
    public var wrappedValue: Wrapped?

    public init(wrappedValue: Wrapped?) { self.wrappedValue = wrappedValue }
}

/// The types of a ``DocumentID``: a `String` or a ``DocumentReference``.
public protocol DocumentIDWrappable: Codable, Sendable {
    static func wrap(_ reference: DocumentReference) -> Self
}

extension String: DocumentIDWrappable {
    public static func wrap(_ reference: DocumentReference) -> String { reference.documentID }
}

extension DocumentReference: DocumentIDWrappable {
    public static func wrap(_ reference: DocumentReference) -> DocumentReference { reference }
}

extension DocumentID: Equatable where Wrapped: Equatable {}
extension DocumentID: Hashable where Wrapped: Hashable {}

extension DocumentID: Codable, DecodableWhenMissing {
    public init(from decoder: any Decoder) throws {
        if let document = decoder as? NodeDecoder, document.context.isDocument {
            wrappedValue = document.context.reference.map { .wrap($0) }
        } else {
            let container = try decoder.singleValueContainer()
            wrappedValue = container.decodeNil() ? nil : try container.decode(Wrapped.self)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        if let encoder = encoder as? NodeEncoder, encoder.form == .document { return }
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}
