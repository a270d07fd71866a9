extension ByteWriter {
    public mutating func write(_ query: Query) {
        write(optional: query.parent) { $0.write($1) }
        write(query.collectionID)
        write(query.allDescendants)
        write(optional: query.filter) { $0.write($1) }
        write(query.orderBy) {
            $0.write($1.field)
            $0.write($1.descending)
        }
        for cursor in [query.start, query.end] {
            write(optional: cursor) {
                $0.write($1.values) { $0.write($1) }
                $0.write($1.before)
            }
        }
        write(count: query.offset)
        write(optional: query.limit) { $0.write(count: $1) }
        write(optional: query.projection) { $0.write($1) { $0.write($1) } }
    }

    mutating func write(_ filter: Query.Filter) {
        switch filter {
        case .and(let filters):
            write(byte: 1)
            write(filters) { $0.write($1) }
        case .or(let filters):
            write(byte: 2)
            write(filters) { $0.write($1) }
        case .field(let field, let comparison, let value):
            write(byte: 3)
            write(field)
            write(byte: comparison.rawValue)
            write(value)
        case .unary(let field, let test):
            write(byte: 4)
            write(field)
            write(byte: test.rawValue)
        }
    }
}

extension ByteReader {
    public mutating func query() throws(DecodingFailure) -> Query {
        let parent = try optional { reader throws(DecodingFailure) in try reader.path() }
        var query = Query(parent: parent, collectionID: try string(), allDescendants: try bool())
        query.filter = try optional { reader throws(DecodingFailure) in try reader.filter(depth: 0) }
        query.orderBy = try list { reader throws(DecodingFailure) in
            Query.Order(try reader.fieldPath(), descending: try reader.bool())
        }
        query.start = try cursor()
        query.end = try cursor()
        query.offset = try size()
        query.limit = try optional { reader throws(DecodingFailure) in try reader.size() }
        query.projection = try optional { reader throws(DecodingFailure) in
            try reader.list { reader throws(DecodingFailure) in try reader.fieldPath() }
        }
        return query
    }

    private mutating func cursor() throws(DecodingFailure) -> Query.Cursor? {
        try optional { reader throws(DecodingFailure) in
            let values = try reader.list { reader throws(DecodingFailure) in try reader.value() }
            return Query.Cursor(values: values, before: try reader.bool())
        }
    }

    /// Decodes an offset or limit; unlike a length it may exceed the remaining bytes.
    package mutating func size() throws(DecodingFailure) -> Int {
        let value = try varint()
        guard value <= UInt64(Int32.max) else {
            throw .beyondLimit("an offset or limit of \(value) is more than \(Int32.max), the limit")
        }
        return Int(value)
    }

    private mutating func filter(depth: Int) throws(DecodingFailure) -> Query.Filter {
        guard depth < 32 else { throw .beyondLimit("a filter is nested deeper than 32 levels, the limit") }
        switch try byte() {
        case 1: return .and(try list { reader throws(DecodingFailure) in try reader.filter(depth: depth + 1) })
        case 2: return .or(try list { reader throws(DecodingFailure) in try reader.filter(depth: depth + 1) })
        case 3:
            let field = try fieldPath()
            guard let comparison = Query.Operator(rawValue: try byte()) else {
                throw DecodingFailure("a filter has an unknown operator")
            }
            return .field(field, comparison, try value())
        case 4:
            let field = try fieldPath()
            guard let test = Query.UnaryOperator(rawValue: try byte()) else {
                throw DecodingFailure("a filter has an unknown operator")
            }
            return .unary(field, test)
        case let tag: throw DecodingFailure("unknown filter tag \(tag)")
        }
    }
}
