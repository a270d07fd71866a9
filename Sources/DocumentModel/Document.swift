/// A stored document with its current fields.
public struct Document: Hashable, Sendable {
    public var path: DocumentPath
    public var fields: [String: Value]
    public var createTime: Timestamp
    public var updateTime: Timestamp

    public init(path: DocumentPath, fields: [String: Value], createTime: Timestamp, updateTime: Timestamp) {
        self.path = path
        self.fields = fields
        self.createTime = createTime
        self.updateTime = updateTime
    }

    /// The value at a field path; nil if there is none.
    public subscript(_ field: FieldPath) -> Value? { Value.map(fields)[field] }
}

extension Value {
    /// The value at a path through nested maps; nil if there is none.
    public subscript(_ field: FieldPath) -> Value? {
        var value = self
        for segment in field.segments {
            guard case .map(let fields) = value, let next = fields.member(segment) else { return nil }
            value = next
        }
        return value
    }
}
