import DocumentModel

/// What a client's commit changes, as it was computed and allowed on a durable state. It holds as long as none of the
/// documents has changed that it was decided on.
struct CommitDecision: Sendable {
    /// The version of the state.
    let version: Int64
    /// The time of the request, which its server timestamps have in milliseconds.
    let time: Timestamp
    /// All documents that the writes and the policy have read.
    let reads: Set<DocumentPath>
    /// Nil if it is too large to be held while the commit waits for the writer, which then computes the changes again:
    /// by itself, or with those of others.
    let computed: ComputedCommit?
}
