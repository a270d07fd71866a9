/// Writes a callable's result, a chunk or an error's details from the author's type.
///
/// Whole numbers beyond ±(2^53 − 1) are wrapped, as clients on JavaScript could not hold them. `Date` and `Timestamp`
/// become RFC 3339 strings, `Data` becomes base64, a `URL` its text.
package struct CallableEncoder: Sendable {
    private let root: String

    /// - Parameter root: what errors call the whole, as in `result.items[3]`.
    package init(root: String = "result") { self.root = root }

    /// The value as JSON text.
    ///
    /// - Throws: `EncodingError`, with the path to what JSON can't hold.
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
