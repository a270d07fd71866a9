import Crypto
import TextFormats
import RealtimeModel

/// A SHA-1 over text, which it feeds to the function in larger pieces.
struct RealtimeDigest {
    /// Whether numbers with the same double differ.
    private let isExact: Bool
    private var function = Insecure.SHA1()
    private var buffer: [UInt8] = []

    private static let pieceSize = 4096

    init(isExact: Bool = false) { self.isExact = isExact }

    mutating func append(_ text: StaticString) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ text: String) {
        if text.utf8.count >= Self.pieceSize { flush() }
        buffer.append(contentsOf: text.utf8)
        flushIfLarge()
    }

    /// Appends a string in quotes, with a backslash before each quote and backslash.
    mutating func append(quoted text: String) {
        buffer.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { buffer.append(UInt8(ascii: "\\")) }
            buffer.append(byte)
        }
        buffer.append(UInt8(ascii: "\""))
        flushIfLarge()
    }

    /// Appends a leaf as hashes have it. In ranges' hashes strings are quoted.
    mutating func append(_ leaf: RealtimeLeaf, isQuoted: Bool = false) {
        switch leaf {
        case .boolean(let value): append(value ? "boolean:true" as StaticString : "boolean:false")
        case .number(let number):
            append("number:" as StaticString)
            number.appendDigits(to: &buffer)
            if isExact, number.isLarge { append(number.description) }
        case .string(let text):
            append("string:" as StaticString)
            if isQuoted { append(quoted: text) } else { append(text) }
        }
    }

    /// Appends the prefix of a node with a priority.
    mutating func append(_ priority: RealtimePriority?, isQuoted: Bool = false) {
        guard let priority else { return }
        append("priority:" as StaticString)
        append(priority.leaf, isQuoted: isQuoted)
        append(":" as StaticString)
    }

    /// Appends a child with its hash.
    mutating func append(child key: RealtimeKey, hash: String) {
        append(":" as StaticString)
        append(key.string)
        append(":" as StaticString)
        append(hash)
    }

    /// The digest in base64.
    mutating func finalize() -> String {
        flush()
        return function.finalize().withUnsafeBytes { Base64.encode($0) }
    }

    private mutating func flushIfLarge() {
        if buffer.count >= Self.pieceSize { flush() }
    }

    private mutating func flush() {
        buffer.withUnsafeBytes { function.update(bufferPointer: $0) }
        buffer.removeAll(keepingCapacity: true)
    }
}
