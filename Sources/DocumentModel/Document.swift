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

    /// The value of a field that a query names: a vector is one value, of which queries see no parts.
    package func queried(_ field: FieldPath) -> Value? {
        var value = Value.map(fields)
        for (index, segment) in field.segments.enumerated() {
            guard case .map(let fields) = value, index == 0 || value.vectorElements == nil,
                let next = fields.member(segment)
            else { return nil }
            value = next
        }
        return value
    }
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
