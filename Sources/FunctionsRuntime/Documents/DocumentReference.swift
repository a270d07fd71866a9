package import DocumentModel

/// A document's place, whether there is a document or not.
public struct DocumentReference: Sendable {
    public let firestore: Firestore
    private let place: Place

    private enum Place {
        case valid(DocumentPath)
        /// Kept until an operation wants to go there.
        case invalid(String, DocumentError)
    }

    init(firestore: Firestore, path: String) {
        self.firestore = firestore
        do {
            place = .valid(try DocumentPath(path))
        } catch {
            place = .invalid(path, error)
        }
    }

    package init(firestore: Firestore, path: DocumentPath) {
        self.firestore = firestore
        place = .valid(path)
    }

    /// The path from the database's root: `users/ada`.
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

    /// The collection the document is in.
    public var parent: CollectionReference {
        CollectionReference(firestore: firestore, path: String(path.utf8.dropLast(documentID.utf8.count + 1)) ?? "")
    }

    /// A collection below this document.
    public func collection(_ id: String) -> CollectionReference {
        CollectionReference(firestore: firestore, path: path + "/" + id)
    }

    /// - Throws: `invalidArgument` where no document can have this path.
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

/// As the document's path, unless a document keeps it as a reference of its own.
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
    /// The document named by a path or by a full resource name of this database; nil where it is neither.
    func reference(named name: String) -> DocumentReference? {
        if let full = try? DocumentName(name) {
            return full.database == transport.database ? DocumentReference(firestore: self, path: full.path) : nil
        }
        return (try? DocumentPath(name)).map { DocumentReference(firestore: self, path: $0) }
    }
}
