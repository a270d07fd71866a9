package import DocumentModel

/// What kind of transaction ``Firestore/runTransaction(_:_:)`` runs.
public struct TransactionOptions: Sendable {
    let attempts: Int
    /// Nil where it may write.
    let readOnly: ReadOnly?

    struct ReadOnly: Sendable {
        let time: Timestamp?
    }

    /// Reads and writes.
    ///
    /// - Parameter attempts: how often the body runs at most.
    public static func readWrite(attempts: Int = 5) -> TransactionOptions {
        TransactionOptions(attempts: attempts, readOnly: nil)
    }

    /// Reads one state of the store: that of a time in its past, or of the first read where there is none. It waits for
    /// nobody and nobody for it; writing is refused.
    public static func readOnly(at time: Timestamp? = nil) -> TransactionOptions {
        TransactionOptions(attempts: 5, readOnly: ReadOnly(time: time))
    }

    func mode(retrying: TransactionID?) -> TransactionMode {
        readOnly.map { .readOnly(at: $0.time) } ?? .readWrite(retrying: retrying)
    }
}
