import DocumentModel
import RealtimeModel
public import StrictJSON
import WorkerProtocol

/// The Realtime Database in a transaction: what it changes of the tree, of documents and of users is one commit, with its
/// events, or nothing.
///
///     onCall("like") { (request: CallableRequest<String>, transaction: Transaction) in
///         let post = transaction.firestore.collection("posts").document(request.data)
///         guard try await transaction.getDocument(post).exists else { throw HttpsError(.notFound, "…") }
///         let likes = request.database.reference(withPath: "likes").child(post.documentID)
///         let count = try await transaction.database.getData(likes).value?.intValue ?? 0
///         try transaction.database.setValue(count + 1, at: likes)
///         try transaction.updateData(["likes": count + 1], forDocument: post)
///     }
///
/// Reads come before writes, as with documents. Each read sees the latest state, and the commit fails with `aborted` if
/// something that was read has changed since: the transaction then runs again. A transaction has at most 100 reads and 500
/// writes of the database. A standalone bundle has no such transactions.
public struct TransactionDatabase: Sendable {
    private let transaction: Transaction

    init(_ transaction: Transaction) { self.transaction = transaction }

    // MARK: Reading

    /// What exists at a reference, or the children that a query finds.
    ///
    /// - Throws: `failedPrecondition` after the first write, or in a read-only transaction.
    public func getData(_ place: some DatabaseQueryable) async throws(DocumentError) -> DataSnapshot {
        let query = place.query
        return try query.snapshot(try await transaction.read(try query.request(.get, wantsHash: true)))
    }

    /// What exists, decoded as a `Codable` type.
    ///
    /// - Throws: as ``getData(_:)`` and ``DataSnapshot/data(as:)``.
    public func data<T: Decodable>(_ place: some DatabaseQueryable, as type: T.Type = T.self) async throws -> T {
        try await getData(place).data(as: type)
    }

    // MARK: Writing

    /// Replaces what exists with the commit; nil removes it. The commit fails if the value is refused.
    public func setValue(_ value: JSONValue?, at reference: DatabaseReference) throws(DocumentError) {
        try transaction.buffer(try reference.set(value))
    }

    /// Replaces what exists by an object of values of different types, with the commit: values that can be encoded,
    /// nil, and arrays and dictionaries of these.
    @_disfavoredOverload
    public func setValue(
        _ members: KeyValuePairs<String, Any?>, at reference: DatabaseReference
    ) throws(DocumentError) {
        try transaction.buffer(try reference.set(try DatabaseReference.object(members)))
    }

    /// Replaces what exists by a value of any type that can be encoded, with the commit.
    @_disfavoredOverload
    public func setValue(_ value: some Encodable, at reference: DatabaseReference) throws(DocumentError) {
        try transaction.buffer(try reference.set(encoding: value))
    }

    /// Replaces what exists with the commit, with a priority.
    public func setValue(
        _ value: JSONValue?, andPriority priority: JSONValue?, at reference: DatabaseReference
    ) throws(DocumentError) {
        try transaction.buffer(try reference.set(value.map { $0.withPriority(priority) }))
    }

    /// Replaces what exists by an `Encodable` value, with the commit.
    public func setValue(from value: some Encodable, at reference: DatabaseReference) throws {
        try transaction.buffer(try DatabaseRequest(.set, value: try DatabaseReference.json(of: value), at: reference))
    }

    /// Changes some children with the commit. Keys may be paths of several keys.
    public func updateChildValues(
        _ values: [String: JSONValue?], at reference: DatabaseReference
    ) throws(DocumentError) {
        try transaction.buffer(try reference.update(values))
    }

    /// Changes some children to values of different types, with the commit.
    @_disfavoredOverload
    public func updateChildValues(
        _ values: KeyValuePairs<String, Any?>, at reference: DatabaseReference
    ) throws(DocumentError) {
        try transaction.buffer(try reference.update(mixed: values))
    }

    public func removeValue(at reference: DatabaseReference) throws(DocumentError) {
        try setValue(nil, at: reference)
    }

    /// Changes the priority alone, with the commit.
    public func setPriority(_ priority: JSONValue?, at reference: DatabaseReference) throws(DocumentError) {
        try transaction.buffer(try reference.priority(priority))
    }
}

extension Transaction {
    /// The Realtime Database, whose changes are a part of the transaction.
    public var database: TransactionDatabase { TransactionDatabase(self) }
}
