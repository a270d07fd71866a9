extension JSONValue {
    /// Parses a JSON text.
    ///
    /// - Throws: ``JSONError``, with the position of the first invalid byte.
    public init(parsing bytes: [UInt8]) throws(JSONError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(JSONError) in
                var reader = JSONValueReader(buffer, unwrapsIntegers: false)
                return try reader.text()
            }
        }
        self = try result.get()
    }

    /// Parses a JSON text.
    ///
    /// - Parameter unwraps: Whether wrapped 64-bit integers of client SDKs are replaced by the integers.
    /// - Throws: ``JSONError``, with the position of the first invalid byte and the path to it.
    package init(parsing bytes: UnsafeRawBufferPointer, unwrappingIntegers unwraps: Bool) throws(JSONError) {
        var reader = JSONValueReader(bytes, unwrapsIntegers: unwraps)
        do throws(JSONError) {
            self = try reader.text()
        } catch {
            throw JSONError(error.problem, at: error.offset, path: reader.reversedPath.reversed())
        }
    }

    /// The value as compact JSON text.
    ///
    /// - Throws: ``JSONError`` if a number is infinite or not a number.
    public func serialized() throws(JSONError) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        try writer.value(self)
        return writer.bytes
    }
}

extension JSONValue: CustomStringConvertible {
    /// Compact JSON text, in which numbers that JSON doesn't have are null.
    public var description: String {
        if let text = try? serialized() { return String(decoding: text, as: UTF8.self) }
        return switch self {
        case .array(let elements): "[\(elements.map(\.description).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(JSONValue.string($0.key)):\($0.value)" }.joined(separator: ","))}"
        default: "null"
        }
    }
}
