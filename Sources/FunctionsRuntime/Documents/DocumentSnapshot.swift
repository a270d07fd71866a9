public import DocumentModel

/// A document as it was when it was read, or the fact that there was none.
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

    /// When the document was created; nil where there is none.
    public var createTime: Timestamp? { document?.createTime }

    /// When the document was last changed; nil where there is none.
    public var updateTime: Timestamp? { document?.updateTime }

    /// The fields; nil where there is no document.
    public func data() -> [String: Value]? { document?.fields }

    /// The fields as a type of one's own.
    ///
    /// - Throws: ``DocumentError`` with `notFound` where there is no document; `DecodingError`, with the path to the
    ///   field, where it doesn't fit the type.
    public func data<T: Decodable>(as type: T.Type) throws -> T {
        try DocumentDecoder().decode(type, from: try existing().fields, in: reference)
    }

    /// The fields as a type of one's own, with the document's place and times.
    ///
    /// - Throws: as ``data(as:)``.
    public func document<T: Decodable & Sendable>(as type: T.Type) throws -> Document<T> {
        let document = try existing()
        return Document(
            ref: reference, data: try data(as: type), createTime: document.createTime, updateTime: document.updateTime)
    }

    /// The value of a field, by its dotted path; nil where there is none.
    public func get(_ field: String) -> Value? {
        guard let path = try? FieldPath(field) else { return nil }
        return document?[path]
    }

    /// The value of a field as a type of one's own, by its dotted path.
    ///
    /// - Throws: as ``data(as:)``, and ``DocumentError`` with `invalidArgument` where the path isn't one.
    public func get<T: Decodable>(_ field: String, as type: T.Type) throws -> T {
        let fields = try existing().fields
        return try DocumentDecoder().decode(type, field: try FieldPath(field), of: fields, in: reference)
    }

    public subscript(field: String) -> Value? { self.get(field) }

    private func existing() throws(DocumentError) -> DocumentModel.Document {
        guard let document else { throw DocumentError(.notFound, "there is no document \(reference.path)") }
        return document
    }
}
