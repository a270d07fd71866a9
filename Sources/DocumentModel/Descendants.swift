/// Documents at any depth: those below a document, or those in a collection and below its documents.
package struct Descendants: Hashable, Sendable {
    /// nil at the root.
    package var parent: DocumentPath?
    /// The collection below `parent`; nil for all of them.
    package var collectionID: String?
    /// The last document of the previous page.
    package var after: DocumentPath?
    package var limit: Int

    package init(parent: DocumentPath?, collectionID: String? = nil, after: DocumentPath? = nil, limit: Int) {
        self.parent = parent
        self.collectionID = collectionID
        self.after = after
        self.limit = limit
    }
}
