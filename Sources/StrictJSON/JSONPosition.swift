/// A position in a text as editors count it.
package struct JSONPosition: Hashable, Sendable {
    /// From 1.
    package var line: Int
    /// From 1, in bytes of UTF-8.
    package var column: Int

    package init(of offset: Int, in bytes: some Collection<UInt8>) {
        line = 1
        column = 1
        for byte in bytes.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
    }
}
