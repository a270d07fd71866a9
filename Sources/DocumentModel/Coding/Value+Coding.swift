import CFunctionsSystem

extension ByteWriter {
    public mutating func write(_ value: Value) {
        switch value {
        case .null: write(byte: 0)
        case .boolean(false): write(byte: 1)
        case .boolean(true): write(byte: 2)
        case .integer(let value):
            write(byte: 3)
            write(signed: value)
        case .double(let value):
            write(byte: 4)
            write(value)
        case .timestamp(let value):
            write(byte: 5)
            write(value)
        case .string(let value):
            write(byte: 6)
            write(value)
        case .bytes(let value):
            write(byte: 7)
            write(blob: value)
        case .reference(let value):
            write(byte: 8)
            write(value.database.project)
            write(value.database.database)
            write(value.path)
        case .geoPoint(let value):
            write(byte: 9)
            write(value.latitude)
            write(value.longitude)
        case .array(let values):
            write(byte: 10)
            write(values) { $0.write($1) }
        case .map(let fields):
            write(byte: 11)
            write(fields: fields)
        }
    }

    public mutating func write(fields: [String: Value]) {
        write(count: fields.count)
        for (name, value) in fields {
            write(name)
            write(value)
        }
    }

    public mutating func write(_ timestamp: Timestamp) {
        write(signed: timestamp.seconds)
        write(varint: UInt64(timestamp.nanoseconds))
    }

    public mutating func write(_ path: DocumentPath) { write(path.string) }

    public mutating func write(_ field: FieldPath) { write(field.segments) { $0.write($1) } }

    public mutating func write(_ document: Document) {
        write(document.path)
        write(document.createTime)
        write(document.updateTime)
        write(fields: document.fields)
    }
}

extension ByteReader {
    /// Deeper than any value the store accepts; bounds the recursion for malicious input.
    private static var maxDepth: Int { 64 }

    public mutating func value() throws(DecodingFailure) -> Value { try value(depth: 0) }

    public mutating func fields() throws(DecodingFailure) -> [String: Value] { try fields(depth: 0) }

    private mutating func value(depth: Int) throws(DecodingFailure) -> Value {
        functions_step()
        guard depth < Self.maxDepth else {
            throw .beyondLimit("a value is nested deeper than \(Self.maxDepth) levels; a document may have 20")
        }
        switch try byte() {
        case 0: return .null
        case 1: return .boolean(false)
        case 2: return .boolean(true)
        case 3: return .integer(try signed())
        case 4: return .double(try double())
        case 5: return .timestamp(try timestamp())
        case 6: return .string(try string())
        case 7: return .bytes(try blob())
        case 8:
            let database = DatabaseID(project: try string(), database: try string())
            return .reference(DocumentName(database: database, path: try path()))
        case 9: return .geoPoint(GeoPoint(latitude: try double(), longitude: try double()))
        case 10: return .array(try list { reader throws(DecodingFailure) in try reader.value(depth: depth + 1) })
        case 11: return .map(try fields(depth: depth + 1))
        case let tag: throw DecodingFailure("unknown value tag \(tag)")
        }
    }

    private mutating func fields(depth: Int) throws(DecodingFailure) -> [String: Value] {
        let count = try count()
        // A dictionary has up to twice as many places as elements.
        try add(elements: count, of: 2 * MemoryLayout<(String, Value)>.stride)
        // As many as their bytes make likely: growing step by step costs more than the fields do, and a false count must
        // not reserve much.
        var fields = [String: Value](minimumCapacity: min(count, max(1024, remaining / 8)))
        for _ in 0..<count {
            let name = try string()
            do throws(DecodingFailure) {
                fields[name] = try value(depth: depth)
            } catch {
                guard depth == 0, error.isBeyondLimit, name.utf8.count <= DocumentLimits.maxFieldNameBytes else {
                    throw error
                }
                throw .beyondLimit("\(name): \(error.reason)")
            }
        }
        // Two names that Swift considers equal would collapse into one entry.
        guard fields.count == count else { throw DecodingFailure("a map has a duplicate name") }
        return fields
    }

    /// The fields of some names. The values of the others are passed over, and never in memory.
    package mutating func fields(named names: Set<String>) throws(DecodingFailure) -> [String: Value] {
        var fields: [String: Value] = [:]
        for _ in 0..<(try count()) {
            let name = try string()
            if names.contains(name) { fields[name] = try value(depth: 0) } else { try skipValue(depth: 0) }
        }
        return fields
    }

    private mutating func skipValue(depth: Int) throws(DecodingFailure) {
        guard depth < Self.maxDepth else { throw DecodingFailure("a value is nested too deep") }
        switch try byte() {
        case 0, 1, 2: return
        case 3: _ = try varint()
        case 4: _ = try fixed()
        case 5:
            _ = try varint()
            _ = try varint()
        case 6, 7: try skipBlob()
        case 8: for _ in 0..<3 { try skipBlob() }
        case 9:
            _ = try fixed()
            _ = try fixed()
        case 10: for _ in 0..<(try count()) { try skipValue(depth: depth + 1) }
        case 11:
            for _ in 0..<(try count()) {
                try skipBlob()
                try skipValue(depth: depth + 1)
            }
        case let tag: throw DecodingFailure("unknown value tag \(tag)")
        }
    }

    public mutating func timestamp() throws(DecodingFailure) -> Timestamp {
        let seconds = try signed()
        let nanoseconds = try varint()
        guard nanoseconds < 1_000_000_000 else { throw DecodingFailure("a timestamp has too many nanoseconds") }
        let timestamp = Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
        guard timestamp.isInRange else { throw .beyondLimit("a timestamp is not within the years 1 to 9999") }
        return timestamp
    }

    public mutating func path() throws(DecodingFailure) -> DocumentPath {
        let string = try string()
        do { return try DocumentPath(string) } catch { throw DecodingFailure(error.message) }
    }

    public mutating func fieldPath() throws(DecodingFailure) -> FieldPath {
        let segments = try list { reader throws(DecodingFailure) in try reader.string() }
        guard !segments.isEmpty else { throw DecodingFailure("a field path is empty") }
        return FieldPath(segments: segments)
    }

    public mutating func document() throws(DecodingFailure) -> Document {
        let path = try path()
        let createTime = try timestamp()
        let updateTime = try timestamp()
        return Document(path: path, fields: try fields(), createTime: createTime, updateTime: updateTime)
    }
}
