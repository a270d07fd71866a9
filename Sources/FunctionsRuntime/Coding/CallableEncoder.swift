/// Encodes a callable's result, a chunk or an error's details as JSON.
///
/// Integers beyond ±(2^53 − 1) are wrapped, because JavaScript clients can't represent them. `Date` and `Timestamp`
/// become RFC 3339 strings, `Data` becomes base64, and a `URL` its string.
package struct CallableEncoder: Sendable {
    private let root: String

    /// - Parameter root: The name of the whole value in errors, as in `result.items[3]`.
    package init(root: String = "result") { self.root = root }

    /// The value as JSON text.
    ///
    /// - Throws: `EncodingError`, with the path of a value that JSON can't represent.
    package func encode(_ value: some Encodable) throws -> [UInt8] {
        try write(try NodeEncoder(.json, root: root).encodeRoot(value))
    }

    private func write(_ node: EncodedNode) throws -> [UInt8] {
        var writer = JSONWriter(wrapsIntegers: true)
        do {
            try writer.write(node)
        } catch {
            let path = [PathKey.name(root)] + error.path
            throw EncodingError.invalidValue(JSONValue.self, .init(codingPath: path, debugDescription: error.reason))
        }
        return writer.bytes
    }
}
