public import DocumentModel

extension DocumentReference {
    /// Reads the document. The snapshot says whether it exists.
    public func getDocument() async throws(DocumentError) -> DocumentSnapshot {
        let path = try validPath()
        let documents = try await firestore.transport.get([path]).documents
        return DocumentSnapshot(reference: self, document: documents[0])
    }

    /// Reads the document as a type of one's own.
    ///
    /// - Throws: ``DocumentError`` with `notFound` where there is none; `DecodingError` where it doesn't fit the type.
    public func getDocument<T: Decodable & Sendable>(as type: T.Type) async throws -> Document<T> {
        try await getDocument().document(as: type)
    }

    /// Makes the document exactly these fields, or with `merge` changes these and keeps the others.
    ///
    /// - Returns: when the document was last changed.
    @discardableResult
    public func setData(
        _ fields: [String: any FieldInput], merge: Bool = false
    ) async throws(DocumentError) -> Timestamp? {
        try await commit(try .set(fields, at: self, merge: merge))
    }

    /// Makes the document what a value of one's own encodes as, or with `merge` changes those fields.
    @discardableResult
    public func setData(from value: some Encodable, merge: Bool = false) async throws -> Timestamp? {
        try await commit(try .set(try DocumentEncoder().encode(value), at: self, merge: merge))
    }

    /// Creates the document.
    ///
    /// - Throws: `alreadyExists` where there is one.
    @discardableResult
    public func create(_ fields: [String: any FieldInput]) async throws(DocumentError) -> Timestamp? {
        try await commit(try .create(fields, at: self))
    }

    /// Creates the document from a value of one's own.
    @discardableResult
    public func create(from value: some Encodable) async throws -> Timestamp? {
        try await commit(try .create(try DocumentEncoder().encode(value), at: self))
    }

    /// Changes fields of an existing document. A key is a dotted path: `address.city` changes one entry of a map.
    ///
    /// - Throws: `notFound` where there is no document.
    @discardableResult
    public func updateData(_ fields: [String: any FieldInput]) async throws(DocumentError) -> Timestamp? {
        try await commit(try .update(fields, at: self))
    }

    /// Deletes the document; nothing happens where there is none. What is below it stays.
    public func delete() async throws(DocumentError) {
        try await commit(try .delete(self))
    }

    @discardableResult
    private func commit(_ write: Write) async throws(DocumentError) -> Timestamp? {
        try await firestore.transport.commit([write]).writeResults[0].updateTime
    }
}
