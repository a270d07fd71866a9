public import DocumentModel
import Synchronization

/// Writes that are stored together or not at all.
///
/// Created by ``Firestore/batch()``. A committed batch refuses further use.
public final class WriteBatch: Sendable {
    private let firestore: Firestore
    /// Nil once committed.
    private let writes = Mutex<[Write]?>([])

    init(firestore: Firestore) { self.firestore = firestore }

    /// Replaces the document with these fields, or with `merge` changes these and keeps the others.
    public func setData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, merge: Bool = false
    ) throws(DocumentError) {
        try add(try .set(fields, at: reference, merge: merge))
    }

    /// Changes only the fields that `mergeFields` names by dotted paths, and keeps the document's others. Creates the
    /// document if it doesn't exist.
    public func setData(
        _ fields: [String: Any?], forDocument reference: DocumentReference, mergeFields: [any FieldPathConvertible]
    ) throws(DocumentError) {
        try add(try .set(fields, at: reference, mergeFields: mergeFields))
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
        try add(try .create(fields, at: reference))
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
        try add(try .update(fields, at: reference, precondition))
    }

    /// Deletes the document, if it exists; with a precondition that it doesn't meet, the commit fails.
    public func deleteDocument(
        _ reference: DocumentReference, precondition: Precondition? = nil
    ) throws(DocumentError) {
        try add(try .delete(reference, precondition))
    }

    /// Stores all writes, or none.
    ///
    /// - Throws: The store's error. The batch can't be used again.
    public func commit() async throws(DocumentError) {
        let taken = writes.withLock { writes in
            defer { writes = nil }
            return writes
        }
        guard let taken else { throw .batchCommitted }
        guard !taken.isEmpty else { return }
        _ = try await firestore.transport.commit(taken)
    }

    private func add(_ write: Write) throws(DocumentError) {
        let isOpen = writes.withLock { writes in
            writes?.append(write)
            return writes != nil
        }
        guard isOpen else { throw .batchCommitted }
    }
}

extension DocumentError {
    fileprivate static let batchCommitted = DocumentError(
        .failedPrecondition, "the batch is committed; create a new one for further writes")
}
