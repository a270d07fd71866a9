import StrictJSON

/// Collects the children of a value by the keys of its type.
struct KeyedPartsContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: NodeEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) { encoder.set(key.stringValue, .null) }
    func encode(_ value: Bool, forKey key: Key) { encoder.set(key.stringValue, .json(.bool(value))) }
    func encode(_ value: String, forKey key: Key) { encoder.set(key.stringValue, .json(.string(value))) }
    func encode(_ value: Double, forKey key: Key) { encoder.set(key.stringValue, .json(.double(value))) }
    func encode(_ value: Float, forKey key: Key) { encoder.set(key.stringValue, encoder.float(value)) }
    func encode(_ value: Int, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: Int8, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: Int64, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try integer(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try integer(value, key) }

    private func integer(_ value: some FixedWidthInteger, _ key: Key) throws {
        encoder.set(key.stringValue, try encoder.integer(value, key: key))
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        if let node = try encoder.part(value, key: key) {
            encoder.set(key.stringValue, node)
        } else if encoder.form.isJSON {
            encoder.set(key.stringValue, .map(KeyedList()))
        }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.nestedPart(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.nestedPart(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.deferPart(PathKey.superKey) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.deferPart(key) }
}
