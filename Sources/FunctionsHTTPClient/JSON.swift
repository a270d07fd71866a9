import FunctionsRuntime

/// - Throws: ``FetchError`` with the path that doesn't decode.
func decodeJSON<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], of root: String, _ url: String
) throws -> Value {
    do {
        return try CallableDecoder(root: root).decode(type, from: bytes)
    } catch let error as DecodingError {
        throw FetchError(.malformed, error.explanation, url: url)
    }
}
