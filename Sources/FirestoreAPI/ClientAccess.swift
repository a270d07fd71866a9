package import DocumentModel

/// What clients may do with documents, until rules decide it.
///
/// This type mirrors `firestore.rules` line by line, and nothing else decides what clients may do. Paths that no rule
/// names are denied.
package struct ClientAccess: Sendable {
    private let database: DatabaseID
    private let uid: String?

    package init(database: DatabaseID, client: ClientIdentity?) {
        self.database = database
        self.uid = client?.uid
    }

    /// `allow get`: reads one document, whether or not it exists.
    package func get(_ path: DocumentPath) throws(DocumentError) {
        try allow(
            isOwn(path, "users")
                || isOwn(path, "users", "cart_items")
                || isOwn(path, "users", "orders")
                || isProduct(path) && uid != nil)
    }

    /// `allow list`: runs a query. A collection group query reaches paths that no rule names, so it is denied.
    package func list(_ query: Query) throws(DocumentError) {
        let isOwnUser = query.parent.map { isOwn($0, "users") } ?? false
        try allow(
            !query.allDescendants
                && (isOwnUser && (query.collectionID == "cart_items" || query.collectionID == "orders")
                    || query.parent == nil && query.collectionID == "products" && uid != nil)
        )
    }

    /// `allow create`: takes the document as it would become.
    package func create(_ document: Document) throws(DocumentError) {
        try allow(
            isOwn(document.path, "users")
                || isOwn(document.path, "users", "cart_items") && isCartItem(document)
                || isProduct(document.path) && isOwned(document))
    }

    /// `allow update`: takes the document as it is and as it would become.
    package func update(from old: Document, to new: Document) throws(DocumentError) {
        try allow(
            isOwn(new.path, "users")
                || isOwn(new.path, "users", "cart_items") && isCartItem(new)
                || isProduct(new.path) && isOwned(old) && isOwned(new))
    }

    /// `allow delete`: takes the document as it is; nil if it doesn't exist.
    package func delete(_ path: DocumentPath, _ document: Document?) throws(DocumentError) {
        try allow(
            isOwn(path, "users")
                || isOwn(path, "users", "cart_items")
                || isProduct(path) && (document.map { isOwned($0) } ?? false))
    }

    private func allow(_ condition: Bool) throws(DocumentError) {
        guard condition else { throw DocumentError(.permissionDenied, "Missing or insufficient permissions.") }
    }

    /// `isUser(uid)` in the rules, for `users/{uid}` or a document in one collection below it.
    private func isOwn(_ path: DocumentPath, _ users: String, _ collection: String? = nil) -> Bool {
        let segments = path.segments
        guard let uid, segments.count == (collection == nil ? 2 : 4), segments[0] == users else { return false }
        // Compares bytes: == treats canonically equivalent spellings of é as equal, but they are different users.
        guard segments[1].utf8.elementsEqual(uid.utf8) else { return false }
        guard let collection else { return true }
        return segments[2] == collection
    }

    private func isProduct(_ path: DocumentPath) -> Bool {
        let segments = path.segments
        return segments.count == 2 && segments[0] == "products"
    }

    /// `isCartItem()` in the rules.
    private func isCartItem(_ document: Document) -> Bool {
        guard case .integer(let quantity)? = document.fields["quantity"], quantity > 0,
            case .reference? = document.fields["product"]
        else { return false }
        return true
    }

    /// `isOwned(product)` in the rules, whose paths begin at the database and don't contain the project.
    private func isOwned(_ product: Document) -> Bool {
        guard case .reference(let owner)? = product.fields["owner"],
            owner.database.database == database.database
        else { return false }
        return isOwn(owner.path, "users")
    }
}

extension ClientAccess: AccessPolicy {
    package func check(_ access: Access, in view: AccessView) throws {
        switch access {
        case .get(let path, _): try get(path)
        case .list(let query): try list(query)
        case .create(let document): try create(document)
        case .update(let old, let new): try update(from: old, to: new)
        case .delete(let path, let document): try delete(path, document)
        }
    }
}
