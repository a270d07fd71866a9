import StrictJSON

/// The children of a node, in order.
struct UnkeyedNodeContainer: UnkeyedDecodingContainer {
    private let decoder: NodeDecoder
    private let elements: NodeElements
    private(set) var currentIndex = 0

    init(_ decoder: NodeDecoder, _ elements: NodeElements) {
        self.decoder = decoder
        self.elements = elements
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    /// Decodes the next element, and advances only if that succeeds.
    private mutating func next<T>(
        _ type: T.Type, _ read: (NodeDecoder, DecodingNode, PathKey) throws -> T
    ) throws -> T {
        let key = PathKey.index(currentIndex)
        guard !isAtEnd else { throw ended(type) }
        let value = try read(decoder, elements[currentIndex], key)
        currentIndex += 1
        return value
    }

    private func ended(_ type: any Any.Type) -> DecodingError {
        let path = decoder.path(to: PathKey.index(currentIndex))
        let reason = "missing: the array has only \(elements.count) elements"
        return .valueNotFound(type, .init(codingPath: path, debugDescription: reason))
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw ended(Never.self) }
        guard elements[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.bool($1, key: $2) } }
    mutating func decode(_ type: String.Type) throws -> String { try next(type) { try $0.string($1, key: $2) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try next(type) { try $0.double($1, key: $2) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try next(type) { try $0.float($1, key: $2) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        try next(type) { try $0.integer(type, $1, key: $2) }
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try next(type) { try $0.decode(type, $1, key: $2) }
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next(KeyedDecodingContainer<Nested>.self) { try $0.child($1, key: $2).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next((any UnkeyedDecodingContainer).self) { try $0.child($1, key: $2).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next((any Decoder).self) { $0.child($1, key: $2) }
    }
}
