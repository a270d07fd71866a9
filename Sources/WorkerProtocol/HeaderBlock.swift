package import NIOCore

/// HTTP headers as bytes: alternating names and values.
///
/// Few handlers read headers, so they are decoded only on demand.
package struct HeaderBlock: Equatable, Sendable {
    package let encoded: ByteBuffer

    package init(encoded: ByteBuffer) { self.encoded = encoded }

    package init(_ pairs: some Sequence<(name: String, value: String)>) {
        var buffer = ByteBuffer()
        for (name, value) in pairs {
            buffer.writeText(name)
            buffer.writeText(value)
        }
        encoded = buffer
    }

    /// The headers in order. A malformed header ends the list.
    package var pairs: [(name: String, value: String)] {
        var rest = encoded
        var pairs: [(name: String, value: String)] = []
        while rest.readableBytes > 0, let name = try? rest.readText(), let value = try? rest.readText() {
            pairs.append((name, value))
        }
        return pairs
    }
}
