package import DocumentModel

/// What happens to a store's indexes in the background, for whoever logs it.
package enum IndexEvent: Hashable, Sendable {
    /// Wanted from now on; queries may use it once it is ready.
    case building(IndexDefinition)
    case ready(IndexDefinition)
    /// Used by no query any more; its entries are being removed.
    case dropping(IndexDefinition)
    case dropped(IndexDefinition)
    /// The fields of a collection's documents get, or lose, entries of their own.
    case changingFields(collectionID: String)
    case changedFields(collectionID: String)
    /// All entries are made anew.
    case rebuilding
    case rebuilt
    /// A long pass over documents is under way; nil for all of them.
    case progress(collectionID: String?, documents: Int)
    /// A document can't be read. Its indexes stay without it, and what reads it fails; a check of the store names all.
    case skipped(DocumentError)
    /// The work can't go on, and is tried again later: queries don't use what isn't ready.
    case failed(DocumentError)
}
