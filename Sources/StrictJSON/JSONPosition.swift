/// A position in a text as editors count it: a byte order mark has none.
package struct JSONPosition: Hashable, Sendable {
    /// From 1.
    package var line: Int
    /// From 1, in bytes of UTF-8.
    package var column: Int

    package init(of offset: Int, in bytes: some Collection<UInt8>) {
        line = 1
        column = 1
        for byte in bytes.prefix(offset).dropFirst(Self.byteOrderMark(in: bytes)) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
    }

    /// The length of the byte order mark with which some editors begin a text; 0 if there is none.
    static func byteOrderMark(in bytes: some Collection<UInt8>) -> Int {
        bytes.starts(with: [0xEF, 0xBB, 0xBF] as [UInt8]) ? 3 : 0
    }
}
