package import DocumentModel
package import UserModel

/// All that functions' operations are performed on.
package struct FunctionBackends: Sendable {
    package var documents: any DocumentBackend
    package var users: any UserBackend
    package var databases: any DatabaseBackend
    package var transactions: any TransactionBackend

    package init(
        documents: any DocumentBackend, users: any UserBackend = UnavailableUsers("there are no users here"),
        databases: any DatabaseBackend = UnavailableDatabases("there is no Realtime Database here"),
        transactions: any TransactionBackend = UnavailableTransactions(
            "a transaction can change documents only here; change the rest before or after it")
    ) {
        self.documents = documents
        self.users = users
        self.databases = databases
        self.transactions = transactions
    }

    /// Gives up all that an owner whose work is over has begun.
    package func release(owner: UInt64) {
        documents.release(owner: owner)
        users.release(owner: owner)
        databases.release(owner: owner)
    }
}

/// What a transaction has read and changes beside documents.
package struct TransactionChanges: Hashable, Sendable {
    package var users: UserChanges
    package var database: DatabaseChanges

    package init(users: UserChanges = UserChanges(), database: DatabaseChanges = DatabaseChanges()) {
        self.users = users
        self.database = database
    }

    package var isEmpty: Bool { users.isEmpty && database.isEmpty }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        users = try UserChanges(from: &reader)
        database = try DatabaseChanges(from: &reader)
    }

    package func write(to writer: inout ByteWriter) {
        users.write(to: &writer)
        database.write(to: &writer)
    }
}

/// Commits transactions over documents, users and the Realtime Database.
package protocol TransactionBackend: Sendable {
    typealias Completion<Answer> = @Sendable (Result<Answer, UserFailure>) -> Void

    /// Commits all that a transaction has read and changes, with its events, or nothing.
    ///
    /// - Parameters:
    ///   - writes: the documents' writes.
    ///   - completing: as with ``DocumentBackend/commit(_:transaction:completing:effects:in:completion:)``.
    ///   - effects: as there.
    func commit(
        _ changes: TransactionChanges, with writes: [Write], transaction: TransactionID, completing: [UInt8]?,
        effects: [Effect], in context: OperationContext, completion: @escaping Completion<CommitAnswer>)
}

/// Refuses every transaction that isn't over documents alone.
package struct UnavailableTransactions: TransactionBackend {
    private let reason: DocumentError

    /// - Parameter reason: what is wrong, and what to do.
    package init(_ reason: String) { self.reason = DocumentError(.failedPrecondition, reason) }

    package func commit(
        _ changes: TransactionChanges, with writes: [Write], transaction: TransactionID, completing: [UInt8]?,
        effects: [Effect], in context: OperationContext, completion: @escaping Completion<CommitAnswer>
    ) {
        completion(.failure(.failed(reason)))
    }
}
