/// What a query found, in its order.
public struct QuerySnapshot: Sendable, Hashable {
    public let documents: [DocumentSnapshot]

    public var count: Int { documents.count }
    public var isEmpty: Bool { documents.isEmpty }

    /// Every document as a type of one's own.
    ///
    /// - Throws: `DecodingError`, with document and field, where one doesn't fit the type.
    public func documents<T: Decodable & Sendable>(as type: T.Type) throws -> [Document<T>] {
        try documents.map { try $0.document(as: type) }
    }
}
