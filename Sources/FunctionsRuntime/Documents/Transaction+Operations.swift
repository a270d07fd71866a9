public import DocumentModel

extension Transaction {
    /// Reads a document. The snapshot says whether it exists.
    ///
    /// - Throws: `failedPrecondition` after the first write; `aborted` after a conflict with a concurrent transaction,
    ///   which restarts the transaction.
    public func getDocument(_ reference: DocumentReference) async throws(DocumentError) -> DocumentSnapshot {
        let path = try reference.validPath()
        return DocumentSnapshot(reference: reference, document: try await read([path])[0])
    }

    /// Reads a document and decodes it as a `Codable` type.
    ///
    /// - Throws: As ``getDocument(_:)``; `DocumentError` with `notFound` if the document doesn't exist;
    ///   `DecodingError` if it doesn't have the type.
    public func getDocument<T: Decodable & Sendable>(
        _ reference: DocumentReference, as type: T.Type
    ) async throws -> Document<T> {
        try await getDocument(reference).document(as: type)
    }

    /// Reads a document and decodes it as a `Codable` type; nil if it doesn't exist.
    ///
    /// - Throws: As ``getDocument(_:)``; `DecodingError` if it doesn't have the type.
    public func getDocumentIfExists<T: Decodable & Sendable>(
        _ reference: DocumentReference, as type: T.Type
    ) async throws -> Document<T>? {
        let snapshot = try await getDocument(reference)
        return snapshot.exists ? try snapshot.document(as: type) : nil
    }

    /// Reads several documents in one round trip: one snapshot for each reference, in that order.
    public func getAll(_ references: [DocumentReference]) async throws(DocumentError) -> [DocumentSnapshot] {
        var paths: [DocumentPath] = []
        paths.reserveCapacity(references.count)
        for reference in references { paths.append(try reference.validPath()) }
        return zip(references, try await read(paths)).map { DocumentSnapshot(reference: $0, document: $1) }
    }

    /// Reads several documents in one round trip.
    public func getAll(_ references: DocumentReference...) async throws(DocumentError) -> [DocumentSnapshot] {
        try await getAll(references)
    }

    /// Runs a query. A concurrent change of its results aborts the transaction.
    public func getDocuments(_ query: some Queryable) async throws(DocumentError) -> QuerySnapshot {
        let query = query.query
        let (model, isReversed) = try query.resolved()
        return query.snapshot(of: try await read(model), isReversed: isReversed)
    }

    /// Runs a query and decodes the results as a `Codable` type.
    public func getDocuments<T: Decodable & Sendable>(
        _ query: some Queryable, as type: T.Type
    ) async throws -> [Document<T>] {
        try await getDocuments(query).documents(as: type)
    }

    /// Reads the documents of a query whose vectors are nearest to one. A concurrent change of any document of the query
    /// aborts the transaction, also of one that isn't among the nearest.
    public func getDocuments(_ query: VectorQuery) async throws(DocumentError) -> QuerySnapshot {
        let (model, search) = try query.resolved()
        return query.snapshot(of: try await read(search, of: model))
    }

    /// Reads the nearest documents and decodes them as a `Codable` type.
    public func getDocuments<T: Decodable & Sendable>(
        _ query: VectorQuery, as type: T.Type
    ) async throws -> [Document<T>] {
        try await getDocuments(query).documents(as: type)
    }

    /// Computes aggregates over a query. A concurrent change of its results aborts the transaction.
    public func getAggregation(_ query: AggregateQuery) async throws(DocumentError) -> AggregateQuerySnapshot {
        let (model, fields) = try query.resolved()
        return query.snapshot(try await read(model, fields))
    }

    /// Replaces the document with these fields, or with `merge` changes these and keeps the others.
    public func setData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, merge: Bool = false
    ) throws(DocumentError) {
        try buffer(try .set(fields, at: reference, merge: merge))
    }

    /// Changes only the fields that `mergeFields` names by dotted paths, and keeps the document's others. Creates the
    /// document if it doesn't exist.
    public func setData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, mergeFields: [any FieldPathConvertible]
    ) throws(DocumentError) {
        try buffer(try .set(fields, at: reference, mergeFields: mergeFields))
    }

    /// Replaces the document with an encoded value, or with `merge` changes the encoded fields.
    public func setData(
        from value: some Encodable, forDocument reference: DocumentReference, merge: Bool = false
    ) throws {
        try setData(try DocumentEncoder().encode(value), forDocument: reference, merge: merge)
    }

    /// Changes only the fields of an encoded value that `mergeFields` names by dotted paths, and keeps the document's
    /// others. Creates the document if it doesn't exist.
    public func setData(
        from value: some Encodable, forDocument reference: DocumentReference,
        mergeFields: [any FieldPathConvertible]
    ) throws {
        try setData(try DocumentEncoder().encode(value), forDocument: reference, mergeFields: mergeFields)
    }

    /// Creates the document; the commit fails with `alreadyExists` if it exists.
    public func create(
        _ fields: [String: Any?], forDocument reference: DocumentReference
    ) throws(DocumentError) {
        try buffer(try .create(fields, at: reference))
    }

    /// Creates the document from a `Codable` value.
    public func create(from value: some Encodable, forDocument reference: DocumentReference) throws {
        try create(try DocumentEncoder().encode(value), forDocument: reference)
    }

    /// Changes fields by their dotted paths; the commit fails with `notFound` if the document doesn't exist, and with
    /// `failedPrecondition` if it has changed since the precondition's `lastUpdateTime`.
    public func updateData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, precondition: Precondition = .exists
    ) throws(DocumentError) {
        try buffer(try .update(fields, at: reference, precondition))
    }

    /// Deletes the document, if it exists; with a precondition that it doesn't meet, the commit fails.
    public func deleteDocument(
        _ reference: DocumentReference, precondition: Precondition? = nil
    ) throws(DocumentError) {
        try buffer(try .delete(reference, precondition))
    }
}
