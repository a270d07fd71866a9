import FunctionsRuntime

extension Presence {
    /// Copies a user's presence into a document, for queries such as who is online.
    ///
    /// A client that reconnects writes several times in a second, and its events may be handled in any order. So this copies
    /// the current value, not the event's.
    static func mirror(
        _ reference: DatabaseReference, to document: DocumentReference, in transaction: Transaction
    ) async throws {
        if let presence = try await transaction.database.data(reference, as: Presence?.self) {
            try transaction.setData(from: presence, forDocument: document)
        } else {
            try transaction.deleteDocument(document)
        }
    }
}
