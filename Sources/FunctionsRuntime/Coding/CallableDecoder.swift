/// Decodes a callable's `data` as the author's type.
///
/// The client SDKs' wrapped 64-bit integers are decoded as integers at any level. Any numeric type accepts any number
/// that it can represent exactly. `Date` and `Timestamp` are RFC 3339 strings, `Data` is base64.
package struct CallableDecoder: Sendable {
    private let context: DecodingContext
    private let root: String?

    /// - Parameters:
    ///   - root: The name of the whole value in errors, as in `data.items[3]`.
    ///   - firestore: The database of decoded references; without it references can't be decoded.
    package init(root: String? = "data", firestore: Firestore? = nil) {
        self.root = root
        self.context = .json(firestore)
    }

    /// - Throws: `DecodingError`, with the path to the error; see ``Swift/DecodingError/explanation``.
    package func decode<T: Decodable>(_ type: T.Type = T.self, from bytes: UnsafeRawBufferPointer) throws -> T {
        var parser = JSONParser(bytes.bindMemory(to: UInt8.self), unwrapsIntegers: true)
        return try decode(type, from: Result { () throws(JSONError) in try parser.parse() })
    }

    /// - Throws: `DecodingError`, with the path to the error; see ``Swift/DecodingError/explanation``.
    package func decode<T: Decodable>(_ type: T.Type = T.self, from bytes: [UInt8]) throws -> T {
        try decode(type, from: Result { () throws(JSONError) in try bytes.parseJSON(unwrappingIntegers: true) })
    }

    private func decode<T: Decodable>(_ type: T.Type, from parsed: Result<JSONValue, JSONError>) throws -> T {
        switch parsed {
        case .success(let value):
            return try NodeDecoder(.json(value), context: context, root: root).decode(type)
        case .failure(let error):
            let path = (root.map { [PathKey.name($0)] } ?? []) + error.path
            throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: error.reason))
        }
    }
}
