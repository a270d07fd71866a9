package import StrictJSON

extension RealtimeQuery {
    /// Reads the query of a WebSocket message: an object whose members are all optional.
    package init(message json: JSONValue) throws(RealtimeQueryError) {
        guard case .object = json else { throw .notAnObject }
        self.init(index: .priority)
        if let index = json["i"], !index.isNull {
            guard let name = index.stringValue else { throw .invalidOrderBy }
            self.index = try Index(name: name)
        }
        start = try bound(of: json, value: "sp", key: "sn", isInclusive: "sin", isStart: true)
        end = try bound(of: json, value: "ep", key: "en", isInclusive: "ein", isStart: false)
        if let limit = json["l"], !limit.isNull {
            guard let count = limit.intValue, count > 0 else { throw .invalidLimit }
            switch json["vf"]?.stringValue {
            case "l": self.limit = .first(count)
            case "r": self.limit = .last(count)
            // Old clients leave the side out: it is that of the only bound.
            default: self.limit = start == nil ? .last(count) : .first(count)
            }
        }
    }

    private func bound(
        of json: JSONValue, value: String, key: String, isInclusive: String, isStart: Bool
    ) throws(RealtimeQueryError) -> Bound? {
        guard let value = json[value] else { return nil }
        let name: String?
        switch json[key] {
        case nil, .null?: name = nil
        case .string(let string)?: name = string
        default: throw .boundNotKey
        }
        let isInclusive = json[isInclusive]?.boolValue ?? true
        return try Self.bound(value, key: name, of: index, isInclusive: isInclusive, isStart: isStart)
    }

    /// A bound as messages and REST have it: for an index of keys, the value is the key.
    static func bound(
        _ value: JSONValue, key name: String?, of index: Index, isInclusive: Bool, isStart: Bool
    ) throws(RealtimeQueryError) -> Bound {
        let leaf: RealtimeLeaf?
        switch value {
        case .null: leaf = nil
        case .bool(let value): leaf = .boolean(value)
        case .integer(let value): leaf = .number(RealtimeNumber(value))
        case .unsigned(let value): leaf = .number(RealtimeNumber(Double(value)))
        case .double(let value): leaf = .number(RealtimeNumber(value))
        case .string(let value): leaf = .string(value)
        case .array, .object: throw .invalidBound
        }
        if index == .key {
            guard case .string(let key)? = leaf else { throw .boundNotKey }
            return Bound(value: nil, key: BoundKey(key), isInclusive: isInclusive)
        }
        let key = name.map { BoundKey($0) } ?? (isStart ? .minimum : .maximum)
        return Bound(value: leaf, key: key, isInclusive: isInclusive)
    }
}

extension RealtimeQuery.Index {
    /// - Throws: `invalidOrderBy` if the name isn't a path.
    init(name: String) throws(RealtimeQueryError) {
        switch name {
        case ".key": self = .key
        case ".value": self = .value
        case ".priority": self = .priority
        default:
            guard let path = try? RealtimePath(name), !path.isRoot else { throw .invalidOrderBy }
            self = .child(path)
        }
    }
}

extension JSONWriter {
    /// Appends a query as the JavaScript SDK sends it. That client finds a revoked listen by its query's members.
    package mutating func realtime(_ query: RealtimeQuery) {
        var isFirst = true
        func member(_ writer: inout JSONWriter, _ key: String) {
            if !isFirst { writer.raw(",") }
            isFirst = false
            writer.key(key)
        }
        func bound(
            _ writer: inout JSONWriter, _ bound: RealtimeQuery.Bound, _ names: (String, String, String),
            omitting omitted: RealtimeQuery.BoundKey
        ) {
            member(&writer, names.0)
            if query.index == .key {
                writer.string(bound.key.name)
            } else {
                if let value = bound.value { writer.realtime(value) } else { writer.null() }
                if bound.key != omitted {
                    member(&writer, names.1)
                    writer.string(bound.key.name)
                }
            }
            member(&writer, names.2)
            writer.boolean(bound.isInclusive)
        }
        raw("{")
        if query.index != .priority {
            member(&self, "i")
            string(query.index.name)
        }
        if let start = query.start { bound(&self, start, ("sp", "sn", "sin"), omitting: .minimum) }
        if let end = query.end { bound(&self, end, ("ep", "en", "ein"), omitting: .maximum) }
        if let limit = query.limit {
            member(&self, "l")
            switch limit {
            case .first(let count): integer(count)
            case .last(let count): integer(count)
            }
            member(&self, "vf")
            if case .first = limit { string("l") } else { string("r") }
        }
        raw("}")
    }
}
