/// The results of a query, in its order.
public struct QuerySnapshot: Sendable, Hashable, RandomAccessCollection {
    public let documents: [DocumentSnapshot]

    public var startIndex: Int { documents.startIndex }
    public var endIndex: Int { documents.endIndex }
    public subscript(position: Int) -> DocumentSnapshot { documents[position] }

    /// Decodes all documents as a `Codable` type.
    ///
    /// - Throws: `DecodingError`, with document and field, if a document doesn't have the type.
    public func documents<T: Decodable & Sendable>(as type: T.Type) throws -> [Document<T>] {
        try documents.map { try $0.document(as: type) }
    }
}
