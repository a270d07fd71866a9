import StrictJSON

/// The children of a node by the keys of a type.
struct KeyedNodeContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoder: NodeDecoder
    private let fields: NodeFields

    init(_ decoder: NodeDecoder, _ fields: NodeFields) {
        self.decoder = decoder
        self.fields = fields
    }

    var codingPath: [any CodingKey] { decoder.codingPath }

    var allKeys: [Key] { fields.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

    private func find(_ key: some CodingKey) throws -> DecodingNode {
        if let node = fields[key.stringValue] { return node }
        throw DecodingError.keyNotFound(key, .init(codingPath: decoder.codingPath, debugDescription: "missing"))
    }

    func decodeNil(forKey key: Key) throws -> Bool { try find(key).isNull }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.bool(find(key), key: key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.string(find(key), key: key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.double(find(key), key: key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder.float(find(key), key: key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }

    private func integer<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T {
        try decoder.integer(type, find(key), key: key)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        if let node = fields[key.stringValue] {
            return try decoder.decode(type, node, key: key)
        }
        if decoder.context.isRealtime, let empty = (type as? any EmptyWhenMissing.Type)?.init() as? T { return empty }
        guard type is any DecodableWhenMissing.Type else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "missing"))
        }
        return try decoder.decode(type, .missing, key: key)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder.child(find(key), key: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.child(find(key), key: key).unkeyedContainer()
    }

    /// A missing `super` counts as null, as in Foundation: the superclass may not need it.
    func superDecoder() throws -> any Decoder {
        let node = fields[PathKey.superKey.stringValue]
        return decoder.child(node ?? .missing, key: PathKey.superKey)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        decoder.child(fields[key.stringValue] ?? .missing, key: key)
    }
}
