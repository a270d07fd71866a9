package import DocumentModel

/// The options of ``Firestore/runTransaction(_:_:)``.
public struct TransactionOptions: Sendable {
    let attempts: Int
    /// Nil if the transaction may write.
    let readOnly: ReadOnly?

    struct ReadOnly: Sendable {
        let time: Timestamp?
    }

    /// Reads and writes.
    ///
    /// - Parameter attempts: The maximum number of attempts.
    public static func readWrite(attempts: Int = 5) -> TransactionOptions {
        TransactionOptions(attempts: attempts, readOnly: nil)
    }

    /// Reads one state of the store: that of a time in the past, or that of the first read. It neither waits for other
    /// transactions nor delays them, and can't write.
    public static func readOnly(at time: Timestamp? = nil) -> TransactionOptions {
        TransactionOptions(attempts: 5, readOnly: ReadOnly(time: time))
    }

    func mode(retrying: TransactionID?) -> TransactionMode {
        readOnly.map { .readOnly(at: $0.time) } ?? .readWrite(retrying: retrying)
    }
}
