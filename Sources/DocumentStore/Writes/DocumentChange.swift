package import DocumentModel

/// A document before and after a commit; nil if it didn't or doesn't exist.
package struct DocumentChange: Hashable, Sendable {
    package var path: DocumentPath
    package var before: Document?
    package var after: Document?

    package init(path: DocumentPath, before: Document?, after: Document?) {
        self.path = path
        self.before = before
        self.after = after
    }

    /// About what its documents take in memory, before and after.
    var weight: Int { (before?.weight ?? 0) + (after?.weight ?? 0) }
}
