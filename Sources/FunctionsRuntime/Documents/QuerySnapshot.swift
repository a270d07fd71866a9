/// The results of a query, in its order.
public struct QuerySnapshot: Sendable, Hashable {
    public let documents: [DocumentSnapshot]

    public var count: Int { documents.count }
    public var isEmpty: Bool { documents.isEmpty }

    /// Decodes all documents as a `Codable` type.
    ///
    /// - Throws: `DecodingError`, with document and field, if a document doesn't have the type.
    public func documents<T: Decodable & Sendable>(as type: T.Type) throws -> [Document<T>] {
        try documents.map { try $0.document(as: type) }
    }
}
