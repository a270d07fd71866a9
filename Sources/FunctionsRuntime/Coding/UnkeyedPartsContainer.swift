import StrictJSON

/// Collects the elements of a value.
struct UnkeyedPartsContainer: UnkeyedEncodingContainer {
    let encoder: NodeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() { encoder.append(.null) }
    func encode(_ value: Bool) { encoder.append(.json(.bool(value))) }
    func encode(_ value: String) { encoder.append(.json(.string(value))) }
    func encode(_ value: Double) { encoder.append(.json(.double(value))) }
    func encode(_ value: Float) { encoder.append(encoder.float(value)) }
    func encode(_ value: Int) throws { try integer(value) }
    func encode(_ value: Int8) throws { try integer(value) }
    func encode(_ value: Int16) throws { try integer(value) }
    func encode(_ value: Int32) throws { try integer(value) }
    func encode(_ value: Int64) throws { try integer(value) }
    func encode(_ value: UInt) throws { try integer(value) }
    func encode(_ value: UInt8) throws { try integer(value) }
    func encode(_ value: UInt16) throws { try integer(value) }
    func encode(_ value: UInt32) throws { try integer(value) }
    func encode(_ value: UInt64) throws { try integer(value) }

    private func integer(_ value: some FixedWidthInteger) throws {
        encoder.append(try encoder.integer(value, key: PathKey.index(count)))
    }

    func encode<T: Encodable>(_ value: T) throws {
        encoder.append(try encoder.part(value, key: PathKey.index(count)) ?? .map(KeyedList()))
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.deferElement().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.deferElement().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.deferElement() }
}

/// Takes a value without children.
struct SinglePartContainer: SingleValueEncodingContainer {
    let encoder: NodeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() { encoder.set(.null) }
    func encode(_ value: Bool) { encoder.set(.json(.bool(value))) }
    func encode(_ value: String) { encoder.set(.json(.string(value))) }
    func encode(_ value: Double) { encoder.set(.json(.double(value))) }
    func encode(_ value: Float) { encoder.set(encoder.float(value)) }
    func encode(_ value: Int) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: Int8) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: Int16) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: Int32) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: Int64) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: UInt) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: UInt8) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: UInt16) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: UInt32) throws { encoder.set(try encoder.integer(value, key: nil)) }
    func encode(_ value: UInt64) throws { encoder.set(try encoder.integer(value, key: nil)) }

    /// A value that encodes nothing leaves the container unchanged.
    func encode<T: Encodable>(_ value: T) throws {
        if let node = try encoder.whole(value) { encoder.set(node) }
    }
}
