public import DocumentModel

/// Collections and what is below them.
extension Firestore {
    /// The collections at the root that contain documents at any depth.
    public func listCollections() async throws(DocumentError) -> [CollectionReference] {
        try await transport.collectionIDs(below: nil).map { collection($0) }
    }

    /// Deletes a collection's documents and everything below them.
    ///
    /// The documents are deleted one by one, and each deletion triggers functions. Documents that are added meanwhile may
    /// be left, and if the call fails, so may others: call it again.
    ///
    ///     try await firestore.recursiveDelete(firestore.collection("carts"))
    ///
    /// - Parameters:
    ///   - writer: What deletes. Its ``BulkWriter/flush()`` returns all failures, those of the deletions, too.
    ///   - collection: What is deleted.
    /// - Throws: The first error of a deletion.
    public func recursiveDelete(
        _ collection: CollectionReference, bulkWriter writer: BulkWriter? = nil
    ) async throws(DocumentError) {
        let path = try collection.validPath()
        let writer = writer ?? bulkWriter()
        try await delete(below: path.parent, collectionID: path.id, writer, await writer.beginDeletion())
    }

    /// Deletes a document and everything below it, whether the document exists or not.
    ///
    ///     try await firestore.recursiveDelete(firestore.document("users/ada"))
    ///
    /// - Parameters:
    ///   - writer: As for a collection.
    ///   - reference: What is deleted.
    /// - Throws: As for a collection.
    public func recursiveDelete(
        _ reference: DocumentReference, bulkWriter writer: BulkWriter? = nil
    ) async throws(DocumentError) {
        let writer = writer ?? bulkWriter()
        let deletion = await writer.beginDeletion()
        try await delete(below: try reference.validPath(), collectionID: nil, writer, deletion)
        try await writer.delete(reference, for: deletion)
        try check(await writer.failure(of: deletion))
    }

    private static let page = 500

    private func delete(
        below parent: DocumentPath?, collectionID: String?, _ writer: BulkWriter, _ deletion: Int
    ) async throws(DocumentError) {
        var page = Descendants(parent: parent, collectionID: collectionID, limit: Self.page)
        while true {
            let paths = try await transport.descendants(page)
            for path in paths {
                try await writer.delete(DocumentReference(firestore: self, path: path), for: deletion)
            }
            try check(await writer.failure(of: deletion))
            guard paths.count == Self.page else { return }
            page.after = paths.last
        }
    }

    private func check(_ failure: BulkWriter.Failure?) throws(DocumentError) {
        guard let failure else { return }
        throw DocumentError(failure.error.code, "\(failure.reference.path): \(failure.error.message)")
    }
}

extension CollectionReference {
    /// References to the collection's documents in the order of their ids, with those of missing documents: these don't
    /// exist, and have documents below them.
    ///
    /// Only names are read, page by page: of documents that are created or deleted meanwhile, any may be listed. If
    /// missing documents don't matter, ``Queryable/getDocuments()`` reads the documents themselves.
    ///
    ///     for tree in try await firestore.collection("trees").listDocuments() {
    ///         let leaves = try await tree.collection("leaves").count.getAggregation().count
    ///     }
    public func listDocuments() async throws(DocumentError) -> [DocumentReference] {
        let collection = try validPath()
        var page = DocumentListing(collection)
        var references: [DocumentReference] = []
        repeat {
            let answer = try await firestore.transport.list(page)
            for id in answer.ids {
                references.append(DocumentReference(firestore: firestore, path: try collection.document(id)))
            }
            page.token = answer.next
        } while page.token != nil
        return references
    }
}

extension DocumentReference {
    /// The collections below this document that contain documents at any depth. The document itself need not exist.
    public func listCollections() async throws(DocumentError) -> [CollectionReference] {
        try await firestore.transport.collectionIDs(below: try validPath()).map { collection($0) }
    }
}
