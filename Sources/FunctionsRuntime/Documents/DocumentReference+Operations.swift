public import DocumentModel

extension DocumentReference {
    /// Reads the document. The snapshot says whether it exists.
    public func getDocument() async throws(DocumentError) -> DocumentSnapshot {
        let path = try validPath()
        let documents = try await firestore.transport.get([path]).documents
        return DocumentSnapshot(reference: self, document: documents[0])
    }

    /// Reads the document and decodes it as a `Codable` type.
    ///
    /// - Throws: `DocumentError` with `notFound` if the document doesn't exist; `DecodingError` if it doesn't have
    ///   the type.
    public func getDocument<T: Decodable & Sendable>(as type: T.Type) async throws -> Document<T> {
        try await getDocument().document(as: type)
    }

    /// Reads the document and decodes it as a `Codable` type; nil if it doesn't exist.
    ///
    ///     guard let item = try await reference.getDocumentIfExists(as: Item.self) else {
    ///         throw HttpsError(.notFound, "There is no such item.")
    ///     }
    ///
    /// - Throws: `DecodingError` if it doesn't have the type.
    public func getDocumentIfExists<T: Decodable & Sendable>(as type: T.Type) async throws -> Document<T>? {
        let snapshot = try await getDocument()
        return snapshot.exists ? try snapshot.document(as: type) : nil
    }

    /// Replaces the document with these fields, or with `merge` changes these and keeps the others.
    ///
    /// - Returns: The update time.
    @discardableResult
    public func setData(
        _ fields: [String: Any?], merge: Bool = false
    ) async throws(DocumentError) -> Timestamp? {
        try await commit(try .set(fields, at: self, merge: merge))
    }

    /// Changes only the fields that `mergeFields` names by dotted paths, and keeps the document's others. Creates the
    /// document if it doesn't exist.
    ///
    /// - Throws: `invalidArgument` if the data doesn't have one of the fields.
    @discardableResult
    public func setData(
        _ fields: [String: Any?], mergeFields: [any FieldPathConvertible]
    ) async throws(DocumentError) -> Timestamp? {
        try await commit(try .set(fields, at: self, mergeFields: mergeFields))
    }

    /// Replaces the document with an encoded value, or with `merge` changes the encoded fields.
    @discardableResult
    public func setData(from value: some Encodable, merge: Bool = false) async throws -> Timestamp? {
        try await commit(try .set(try DocumentEncoder().encode(value), at: self, merge: merge))
    }

    /// Changes only the fields of an encoded value that `mergeFields` names by dotted paths, and keeps the document's
    /// others. Creates the document if it doesn't exist.
    ///
    /// - Throws: `invalidArgument` if the value doesn't have one of the fields, such as a property that is nil.
    @discardableResult
    public func setData(
        from value: some Encodable, mergeFields: [any FieldPathConvertible]
    ) async throws -> Timestamp? {
        try await commit(try .set(try DocumentEncoder().encode(value), at: self, mergeFields: mergeFields))
    }

    /// Creates the document.
    ///
    /// - Throws: `alreadyExists` if it exists.
    @discardableResult
    public func create(_ fields: [String: Any?]) async throws(DocumentError) -> Timestamp? {
        try await commit(try .create(fields, at: self))
    }

    /// Creates the document from a `Codable` value.
    @discardableResult
    public func create(from value: some Encodable) async throws -> Timestamp? {
        try await commit(try .create(try DocumentEncoder().encode(value), at: self))
    }

    /// Changes fields of an existing document. A key is a dotted path: `address.city` changes one entry of a map.
    ///
    /// - Throws: `notFound` if the document doesn't exist; `failedPrecondition` if it has changed since the precondition's
    ///   `lastUpdateTime`.
    @discardableResult
    public func updateData(
        _ fields: [String: Any?], precondition: Precondition = .exists
    ) async throws(DocumentError) -> Timestamp? {
        try await commit(try .update(fields, at: self, precondition))
    }

    /// Deletes the document, if it exists. Its subcollections stay.
    ///
    /// - Throws: `notFound` or `failedPrecondition` if there is a precondition that the document doesn't meet.
    public func delete(precondition: Precondition? = nil) async throws(DocumentError) {
        try await commit(try .delete(self, precondition))
    }

    @discardableResult
    private func commit(_ write: Write) async throws(DocumentError) -> Timestamp? {
        try await firestore.transport.commit([write]).writeResults[0].updateTime
    }
}
