public import DocumentModel

extension Transaction {
    /// Reads a document. The snapshot says whether it exists.
    ///
    /// - Throws: `failedPrecondition` after the first write; `aborted` where a concurrent transaction won, which starts
    ///   the transaction again.
    public func getDocument(_ reference: DocumentReference) async throws(DocumentError) -> DocumentSnapshot {
        let path = try reference.validPath()
        return DocumentSnapshot(reference: reference, document: try await read([path])[0])
    }

    /// Reads a document as a type of one's own.
    ///
    /// - Throws: as ``getDocument(_:)``; ``DocumentError`` with `notFound` where there is none; `DecodingError` where
    ///   it doesn't fit the type.
    public func getDocument<T: Decodable & Sendable>(
        _ reference: DocumentReference, as type: T.Type
    ) async throws -> Document<T> {
        try await getDocument(reference).document(as: type)
    }

    /// Reads several documents in one step: one snapshot for each reference, in that order.
    public func getAll(_ references: [DocumentReference]) async throws(DocumentError) -> [DocumentSnapshot] {
        var paths: [DocumentPath] = []
        paths.reserveCapacity(references.count)
        for reference in references { paths.append(try reference.validPath()) }
        return zip(references, try await read(paths)).map { DocumentSnapshot(reference: $0, document: $1) }
    }

    /// Reads several documents in one step.
    public func getAll(_ references: DocumentReference...) async throws(DocumentError) -> [DocumentSnapshot] {
        try await getAll(references)
    }

    /// Reads what a query finds. The transaction is lost where a concurrent one changes what it would find.
    public func getDocuments(_ query: some Queryable) async throws(DocumentError) -> QuerySnapshot {
        let query = query.query
        let (model, isReversed) = try query.resolved()
        return query.snapshot(of: try await read(model), isReversed: isReversed)
    }

    /// Reads what a query finds as a type of one's own.
    public func getDocuments<T: Decodable & Sendable>(
        _ query: some Queryable, as type: T.Type
    ) async throws -> [Document<T>] {
        try await getDocuments(query).documents(as: type)
    }

    /// Computes numbers about what a query finds. The transaction is lost where a concurrent one changes what it would
    /// find.
    public func getAggregation(_ query: AggregateQuery) async throws(DocumentError) -> AggregateQuerySnapshot {
        let (model, fields) = try query.resolved()
        return query.snapshot(try await read(model, fields))
    }

    /// Makes the document exactly these fields, or with `merge` changes these and keeps the others.
    public func setData(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference, merge: Bool = false
    ) throws(DocumentError) {
        try buffer(try .set(fields, at: reference, merge: merge))
    }

    /// Makes the document what a value of one's own encodes as, or with `merge` changes those fields.
    public func setData(
        from value: some Encodable, forDocument reference: DocumentReference, merge: Bool = false
    ) throws {
        try setData(try DocumentEncoder().encode(value), forDocument: reference, merge: merge)
    }

    /// Creates the document; the commit fails with `alreadyExists` where there is one.
    public func create(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference
    ) throws(DocumentError) {
        try buffer(try .create(fields, at: reference))
    }

    /// Creates the document from a value of one's own.
    public func create(from value: some Encodable, forDocument reference: DocumentReference) throws {
        try create(try DocumentEncoder().encode(value), forDocument: reference)
    }

    /// Changes fields by their dotted paths; the commit fails with `notFound` where there is no document.
    public func updateData(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference
    ) throws(DocumentError) {
        try buffer(try .update(fields, at: reference))
    }

    /// Deletes the document; nothing happens where there is none.
    public func deleteDocument(_ reference: DocumentReference) throws(DocumentError) {
        try buffer(try .delete(reference))
    }
}
