public import DocumentModel

/// A document's state at the time of a read, which may be that it doesn't exist.
///
/// A field is read by its name, `snapshot.total` or `snapshot["total"]`, as a `Value`, or decoded as what its context
/// expects: `let total: Int = try snapshot.get("total")`.
@dynamicMemberLookup
public struct DocumentSnapshot: Sendable, Hashable {
    public let reference: DocumentReference
    private let document: DocumentModel.Document?

    package init(reference: DocumentReference, document: DocumentModel.Document?) {
        self.reference = reference
        self.document = document
    }

    package init(_ document: DocumentModel.Document, firestore: Firestore) {
        self.init(reference: DocumentReference(firestore: firestore, path: document.path), document: document)
    }

    public var exists: Bool { document != nil }
    public var documentID: String { reference.documentID }

    /// The same as ``documentID``. A field of this name is `snapshot["id"]`.
    public var id: String { documentID }

    /// The same as ``reference``. A field of this name is `snapshot["ref"]`.
    public var ref: DocumentReference { reference }

    /// When the document was created; nil if it doesn't exist.
    public var createTime: Timestamp? { document?.createTime }

    /// When the document was last changed; nil if it doesn't exist.
    public var updateTime: Timestamp? { document?.updateTime }

    /// The fields; nil if the document doesn't exist.
    public func data() -> [String: Value]? { document?.fields }

    /// Decodes the fields as a `Codable` type. An optional is nil if the document doesn't exist.
    ///
    /// - Throws: `DocumentError` with `notFound` if the document doesn't exist; `DecodingError`, with the field's
    ///   path, if it doesn't have the type.
    public func data<T: Decodable>(as type: T.Type) throws -> T {
        if document == nil, let none = nothing(as: T.self) { return none }
        return try DocumentDecoder().decode(type, from: try existing().fields, in: reference)
    }

    /// Decodes the fields as a `Codable` type, with the document's reference and times.
    ///
    /// - Throws: as ``data(as:)``.
    public func document<T: Decodable & Sendable>(as type: T.Type) throws -> Document<T> {
        let document = try existing()
        return Document(
            ref: reference, data: try data(as: type), createTime: document.createTime, updateTime: document.updateTime)
    }

    /// The value of a field by its dotted path; nil if there is none.
    public func get(_ field: String) -> Value? {
        guard let path = try? FieldPath(field) else { return nil }
        return document?[path]
    }

    /// Decodes the value of a field by its dotted path. An optional is nil if the field is missing or null, or if there is
    /// no document.
    ///
    /// - Throws: As ``data(as:)``, and `DocumentError` with `invalidArgument` if the path is invalid.
    public func get<T: Decodable>(_ field: String, as type: T.Type = T.self) throws -> T {
        if document == nil, let none = nothing(as: T.self) { return none }
        let fields = try existing().fields
        return try DocumentDecoder().decode(type, field: try FieldPath(field), of: fields, in: reference)
    }

    /// The value of a field by its dotted path; nil if there is none.
    public subscript(field: String) -> Value? { self.get(field) }

    /// The value of a field by its name; nil if there is none, also if the name is misspelled.
    public subscript(dynamicMember field: String) -> Value? { document?.fields[field] }

    private func existing() throws(DocumentError) -> DocumentModel.Document {
        guard let document else { throw DocumentError(.notFound, "the document \(reference.path) doesn't exist") }
        return document
    }
}

/// The nil of an optional; nil if the type isn't one. Not a member, because no field can have a member's name.
private func nothing<T>(as type: T.Type) -> T? { (T.self as? any OptionalValue.Type)?.nothing as? T }
