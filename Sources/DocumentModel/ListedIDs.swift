/// Where ids are listed that have documents below them, whether or not there is a document of that id.
package enum ListedIDs: Hashable, Sendable {
    /// The collections below a document, or at the root.
    case collections(below: DocumentPath?)
    /// The documents of a collection that have others below them.
    case parents(in: CollectionPath)
}
