package import DocumentModel

/// A reference to a document that may or may not exist.
public struct DocumentReference: Sendable {
    public let firestore: Firestore
    private let place: Place

    private enum Place {
        case valid(DocumentPath)
        /// An invalid path; the error is thrown when an operation uses the reference.
        case invalid(String, DocumentError)
    }

    /// - Parameter path: A slash at either end doesn't matter.
    init(firestore: Firestore, path: String) {
        let path = path.withoutOuterSlashes
        self.firestore = firestore
        do {
            place = .valid(try DocumentPath(path))
        } catch {
            place = .invalid(path, error)
        }
    }

    init(firestore: Firestore, path: String, problem: DocumentError) {
        self.firestore = firestore
        place = .invalid(path, problem)
    }

    package init(firestore: Firestore, path: DocumentPath) {
        self.firestore = firestore
        place = .valid(path)
    }

    /// The path relative to the database: `users/ada`.
    public var path: String {
        switch place {
        case .valid(let path): path.string
        case .invalid(let path, _): path
        }
    }

    /// The last segment of the path.
    public var documentID: String {
        let path = path
        return path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
    }

    /// The collection that contains the document.
    public var parent: CollectionReference {
        CollectionReference(
            firestore: firestore, path: String(path.utf8.dropLast(documentID.utf8.count + 1)) ?? "", problem: problem)
    }

    /// A collection below this document.
    public func collection(_ id: String) -> CollectionReference {
        CollectionReference(firestore: firestore, path: path + "/" + id.withoutOuterSlashes, problem: problem)
    }

    /// Nil if the path is valid.
    private var problem: DocumentError? {
        if case .invalid(_, let error) = place { error } else { nil }
    }

    /// - Throws: `invalidArgument` if the path is invalid.
    package func validPath() throws(DocumentError) -> DocumentPath {
        switch place {
        case .valid(let path): return path
        case .invalid(_, let error): throw error
        }
    }
}

extension DocumentReference: Hashable, CustomStringConvertible {
    public static func == (a: DocumentReference, b: DocumentReference) -> Bool {
        a.path.utf8.elementsEqual(b.path.utf8) && a.firestore.transport.database == b.firestore.transport.database
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(path) }

    public var description: String { path }
}

/// Encoded as the document's path, except in documents, which store references natively.
extension DocumentReference: Codable {
    public init(from decoder: any Decoder) throws {
        let reason = "a document reference can be read from documents and callables only"
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: reason))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(path)
    }
}

extension Firestore {
    /// The document with a path or with a full resource name of this database; nil if the string is neither.
    func reference(named name: String) -> DocumentReference? {
        if let full = try? DocumentName(name) {
            return full.database == transport.database ? DocumentReference(firestore: self, path: full.path) : nil
        }
        return (try? DocumentPath(name)).map { DocumentReference(firestore: self, path: $0) }
    }
}
