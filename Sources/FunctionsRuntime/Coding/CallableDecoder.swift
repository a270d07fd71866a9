import StrictJSON

/// Decodes a callable's `data` as the author's type.
///
/// The client SDKs' wrapped 64-bit integers are decoded as integers at any level. Any numeric type accepts any number
/// that it can represent exactly. `Date` and `Timestamp` are RFC 3339 strings, `Data` is base64, and a `Decimal` is a
/// number.
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
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes, unwrappingIntegers: true)
        } catch {
            let path = (root.map { [PathKey.name($0)] } ?? []) + error.path
            throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: error.reason))
        }
        return try NodeDecoder(.json(value), context: context, root: root).decode(type)
    }

    /// - Throws: `DecodingError`, with the path to the error; see ``Swift/DecodingError/explanation``.
    package func decode<T: Decodable>(_ type: T.Type = T.self, from bytes: [UInt8]) throws -> T {
        try bytes.withUnsafeBytes { try decode(type, from: $0) }
    }
}
