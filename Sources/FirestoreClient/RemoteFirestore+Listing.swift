import DocumentModel
import FirestoreJSON
import StrictJSON

/// The listings.
extension RemoteFirestore {
    func collectionIDs(below parent: DocumentPath?) async throws(DocumentError) -> [String] {
        try await service.collectionIDs(below: parent)
    }

    /// As the Firebase Admin SDK finds what it deletes: by a query over the collections of all names, bounded by the
    /// names that begin with the collection's.
    func descendants(_ page: Descendants, _ context: OperationContext) async throws(DocumentError) -> [DocumentPath] {
        var query = Query(parent: page.parent, collectionID: "", allDescendants: true)
        query.projection = [.documentID]
        query.orderBy = [Query.Order(.documentID)]
        query.limit = page.limit
        if let id = page.collectionID {
            let parent = page.parent.map { $0.string + "/" } ?? ""
            query.filter = .and([
                .field(.documentID, .greaterThanOrEqual, name("\(parent)\(id)/\0")),
                .field(.documentID, .lessThan, name("\(parent)\(id)\0/\0")),
            ])
        }
        if let after = page.after { query.start = Query.Cursor(values: [name(after.string)], before: false) }
        return try await self.query(query, .strong, context).documents.map(\.path)
    }

    private func name(_ path: String) -> Value {
        .reference(DocumentName(database: database, path: DocumentPath(unchecked: path)))
    }
}
