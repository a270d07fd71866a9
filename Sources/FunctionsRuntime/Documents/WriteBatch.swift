public import DocumentModel
import Synchronization

/// Writes that are stored together or not at all.
///
/// Made by ``Firestore/batch()``; a batch that was committed refuses further use.
public final class WriteBatch: Sendable {
    private let firestore: Firestore
    /// Nil once committed.
    private let writes = Mutex<[Write]?>([])

    init(firestore: Firestore) { self.firestore = firestore }

    /// Makes the document exactly these fields, or with `merge` changes these and keeps the others.
    public func setData(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference, merge: Bool = false
    ) throws(DocumentError) {
        try add(try .set(fields, at: reference, merge: merge))
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
        try add(try .create(fields, at: reference))
    }

    /// Creates the document from a value of one's own.
    public func create(from value: some Encodable, forDocument reference: DocumentReference) throws {
        try create(try DocumentEncoder().encode(value), forDocument: reference)
    }

    /// Changes fields by their dotted paths; the commit fails with `notFound` where there is no document.
    public func updateData(
        _ fields: [String: any FieldInput], forDocument reference: DocumentReference
    ) throws(DocumentError) {
        try add(try .update(fields, at: reference))
    }

    /// Deletes the document; nothing happens where there is none.
    public func deleteDocument(_ reference: DocumentReference) throws(DocumentError) {
        try add(try .delete(reference))
    }

    /// Stores every write, or none.
    ///
    /// - Throws: what the store refused. The batch is used up all the same.
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
        .failedPrecondition, "the batch was committed before; make a new one for further writes")
}
