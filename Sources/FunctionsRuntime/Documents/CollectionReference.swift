package import DocumentModel

/// A reference to a collection, and the query for all of its documents.
public struct CollectionReference: Sendable, Hashable, CustomStringConvertible {
    public let firestore: Firestore
    /// The path relative to the database: `users` or `users/ada/orders`.
    public let path: String
    /// Why a document on the way can't be used, such as an id with a slash: then nothing below it can.
    private let problem: DocumentError?

    init(firestore: Firestore, path: String, problem: DocumentError? = nil) {
        self.firestore = firestore
        self.path = path.withoutOuterSlashes
        self.problem = problem
    }

    /// - Throws: `invalidArgument` if the path is invalid.
    func validPath() throws(DocumentError) -> CollectionPath {
        if let problem { throw problem }
        return try CollectionPath(path)
    }

    /// The last segment of the path.
    public var collectionID: String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// The document above this collection; nil at the root.
    public var parent: DocumentReference? {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map {
            document(at: String(path[..<$0]))
        }
    }

    private func document(at path: String) -> DocumentReference {
        problem.map { DocumentReference(firestore: firestore, path: path, problem: $0) }
            ?? DocumentReference(firestore: firestore, path: path)
    }

    /// The document with this id, which may come from a client: one with a slash in it fails with `invalidArgument` when
    /// the reference is used, because it would name a document elsewhere. A slash at either end is left out, as in
    /// Firebase's libraries: compare ``DocumentReference/documentID``. For a path, use ``Firestore/document(_:)``.
    public func document(_ id: String) -> DocumentReference {
        let id = id.withoutOuterSlashes
        guard !id.utf8.contains(UInt8(ascii: "/")) else {
            return DocumentReference(
                firestore: firestore, path: "\(path)/\(id)",
                problem: problem
                    ?? .invalidArgument("a document's id must not contain a slash, and \"\(id)\" does"))
        }
        return document(at: path + "/" + id)
    }

    /// A new document with a random id.
    public func document() -> DocumentReference { document(AutomaticID.make()) }

    /// Adds a document with a random id.
    @discardableResult
    public func addDocument(data fields: [String: Any?]) async throws(DocumentError) -> DocumentReference {
        let reference = document()
        try await reference.create(fields)
        return reference
    }

    /// Adds a `Codable` value as a document with a random id.
    @discardableResult
    public func addDocument(from value: some Encodable) async throws -> DocumentReference {
        try await addDocument(data: try DocumentEncoder().encode(value))
    }

    public static func == (a: CollectionReference, b: CollectionReference) -> Bool {
        a.path.utf8.elementsEqual(b.path.utf8) && a.firestore.transport.database == b.firestore.transport.database
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(path) }

    public var description: String { path }
}

extension CollectionReference: Queryable {
    public var query: Query {
        do {
            let collection = try validPath()
            let model = DocumentModel.Query(parent: collection.parent, collectionID: collection.id)
            return Query(model, firestore: firestore)
        } catch {
            return Query(DocumentModel.Query(collectionID: path), firestore: firestore, problem: error)
        }
    }
}
