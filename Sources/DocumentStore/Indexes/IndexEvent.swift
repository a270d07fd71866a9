package import DocumentModel

/// What happens to a store's indexes in the background, for the log.
package enum IndexEvent: Hashable, Sendable {
    /// The index is configured from now on; queries may use it once it is ready.
    case building(IndexDefinition)
    case ready(IndexDefinition)
    /// No query uses the index any more; its entries are being removed.
    case dropping(IndexDefinition)
    case dropped(IndexDefinition)
    /// The fields of a collection's documents gain or lose automatic entries.
    case changingFields(collectionID: String)
    case changedFields(collectionID: String)
    /// All entries are being recreated.
    case rebuilding
    case rebuilt
    /// A long pass over documents is in progress; the collection id is nil for all documents.
    case progress(collectionID: String?, documents: Int)
    /// A document can't be read. Its indexes lack it, and reading it fails; a check of the store lists all such
    /// documents.
    case skipped(DocumentError)
    /// The work can't continue and is retried later: queries don't use indexes that aren't ready.
    case failed(DocumentError)
}
