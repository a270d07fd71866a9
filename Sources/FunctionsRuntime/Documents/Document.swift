public import DocumentModel

/// A document decoded as a `Codable` type, with its reference.
public struct Document<Data: Sendable>: Sendable {
    public let ref: DocumentReference
    public var data: Data
    public let createTime: Timestamp
    /// When the document was last changed.
    public let updateTime: Timestamp

    public init(ref: DocumentReference, data: Data, createTime: Timestamp, updateTime: Timestamp) {
        self.ref = ref
        self.data = data
        self.createTime = createTime
        self.updateTime = updateTime
    }

    public var id: String { ref.documentID }
}

extension Document: Identifiable {}
extension Document: Equatable where Data: Equatable {}
extension Document: Hashable where Data: Hashable {}
