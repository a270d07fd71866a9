/// Identifies an open transaction of the store.
public struct TransactionID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public enum TransactionMode: Hashable, Sendable {
    /// - Parameter retrying: The aborted transaction that this one retries. It gets priority on what that transaction
    ///   read.
    case readWrite(retrying: TransactionID?)
    /// All reads see one state: that of a time in the past, or without one that of the first read.
    case readOnly(at: Timestamp?)
}
