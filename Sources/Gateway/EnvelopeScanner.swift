import NIOCore

/// Finds the `data` of a callable's request body, and checks that the whole is JSON.
///
/// It decodes nothing: the worker does, once and into the author's type. What passes here is a JSON object whose one
/// key is `data`, no deeper than ``maxDepth``, in valid UTF-8.
struct EnvelopeScanner {
    /// Deeper than any client's data, and shallow enough for any decoder.
    static let maxDepth = 512

    /// Why the envelope is invalid. For the log; the caller gets «Bad Request».
    enum Failure: Error, Equatable, CustomStringConvertible {
        case empty
        case syntax(offset: Int)
        case depth
        case encoding
        case notAnObject
        case missingData
        case otherKey

        var description: String {
            switch self {
            case .empty: "the body is empty"
            case .syntax(let offset): "the body isn't JSON at byte \(offset)"
            case .depth: "the body is nested deeper than \(EnvelopeScanner.maxDepth)"
            case .encoding: "the body isn't valid UTF-8"
            case .notAnObject: "the body isn't a JSON object"
            case .missingData: "the body has no key \"data\""
            case .otherKey: "the body has a key other than \"data\""
            }
        }
    }

    /// - Returns: the bytes of `data`, sharing the body's storage.
    static func data(in body: ByteBuffer) throws(Failure) -> ByteBuffer {
        guard body.readableBytes > 0 else { throw .empty }
        let range: Result<Range<Int>, Failure> = body.withUnsafeReadableBytes { bytes in
            Result { () throws(Failure) in
                var scanner = EnvelopeScanner(bytes: bytes.bindMemory(to: UInt8.self))
                return try scanner.scan()
            }
        }
        let found = try range.get()
        return body.getSlice(at: body.readerIndex + found.lowerBound, length: found.count) ?? ByteBuffer()
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var hasNonASCII = false

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private mutating func scan() throws(Failure) -> Range<Int> {
        skipSpace()
        guard peek() == UInt8(ascii: "{") else {
            // Another JSON value and invalid JSON are different mistakes of an author.
            try skipValue()
            throw .notAnObject
        }
        position += 1
        var data: Range<Int>?
        var hasOtherKey = false
        skipSpace()
        if peek() == UInt8(ascii: "}") {
            position += 1
        } else {
            while true {
                skipSpace()
                let keyStart = position
                try skipString()
                let isData = isDataKey(keyStart..<position)
                skipSpace()
                try expect(UInt8(ascii: ":"))
                skipSpace()
                let start = position
                try skipValue()
                if isData { data = start..<position } else { hasOtherKey = true }
                skipSpace()
                if peek() == UInt8(ascii: ",") {
                    position += 1
                    continue
                }
                try expect(UInt8(ascii: "}"))
                break
            }
        }
        skipSpace()
        guard position == bytes.count else { throw .syntax(offset: position) }
        if hasNonASCII { try checkEncoding() }
        guard !hasOtherKey else { throw .otherKey }
        guard let data else { throw .missingData }
        return data
    }

    /// Compares with the plain spelling first; a key may also be written with escapes.
    private func isDataKey(_ range: Range<Int>) -> Bool {
        let key = bytes[range.dropFirst().dropLast()]
        if key.elementsEqual("data".utf8) { return true }
        guard key.contains(UInt8(ascii: "\\")), key.count <= 24 else { return false }
        return UnicodeEscapes.unescaped(key).map { $0 == Array("data".utf8) } ?? false
    }

    private func checkEncoding() throws(Failure) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .encoding }
    }

    // MARK: JSON

    /// Skips a value without recursion, so that no nesting can exhaust the stack.
    private mutating func skipValue() throws(Failure) {
        // One bit a level distinguishes objects from arrays: 512 levels in eight words.
        var isObject = BitStack()
        while true {
            skipSpace()
            guard let byte = peek() else { throw .syntax(offset: position) }
            switch byte {
            case UInt8(ascii: "{"):
                position += 1
                skipSpace()
                if peek() == UInt8(ascii: "}") {
                    position += 1
                } else {
                    guard isObject.push(true) else { throw .depth }
                    try skipKey()
                    continue
                }
            case UInt8(ascii: "["):
                position += 1
                skipSpace()
                if peek() == UInt8(ascii: "]") {
                    position += 1
                } else {
                    guard isObject.push(false) else { throw .depth }
                    continue
                }
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "t"): try skipLiteral("true")
            case UInt8(ascii: "f"): try skipLiteral("false")
            case UInt8(ascii: "n"): try skipLiteral("null")
            default: try skipNumber()
            }
            // A value has ended: its containers may end with it.
            while true {
                guard let inObject = isObject.top else { return }
                skipSpace()
                let next = peek()
                if next == UInt8(ascii: ",") {
                    position += 1
                    if inObject {
                        skipSpace()
                        try skipKey()
                    }
                    break
                }
                guard next == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                    throw .syntax(offset: position)
                }
                position += 1
                isObject.pop()
            }
        }
    }

    private mutating func skipKey() throws(Failure) {
        try skipString()
        skipSpace()
        try expect(UInt8(ascii: ":"))
    }

    private mutating func skipString() throws(Failure) {
        try expect(UInt8(ascii: "\""))
        while let byte = peek() {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"):
                guard let escape = peek() else { throw .syntax(offset: position) }
                position += 1
                switch escape {
                case UInt8(ascii: "u"):
                    for _ in 0..<4 {
                        guard let digit = peek(), UnicodeEscapes.hexValue(digit) != nil else {
                            throw .syntax(offset: position)
                        }
                        position += 1
                    }
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
                    UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                    break
                default: throw .syntax(offset: position - 1)
                }
            case 0..<0x20: throw .syntax(offset: position - 1)
            case 0x80...: hasNonASCII = true
            default: break
            }
        }
        throw .syntax(offset: position)
    }

    private mutating func skipNumber() throws(Failure) {
        if peek() == UInt8(ascii: "-") { position += 1 }
        if peek() == UInt8(ascii: "0") { position += 1 } else { try skipDigits() }
        if peek() == UInt8(ascii: ".") {
            position += 1
            try skipDigits()
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            position += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(Failure) {
        let start = position
        while let byte = peek(), (48...57).contains(byte) { position += 1 }
        guard position > start else { throw .syntax(offset: position) }
    }

    private mutating func skipLiteral(_ literal: StaticString) throws(Failure) {
        for offset in 0..<literal.utf8CodeUnitCount { try expect(literal.utf8Start[offset]) }
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func expect(_ byte: UInt8) throws(Failure) {
        guard peek() == byte else { throw .syntax(offset: position) }
        position += 1
    }
}

/// A stack of at most ``EnvelopeScanner/maxDepth`` bits.
private struct BitStack {
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    private var count = 0

    var top: Bool? {
        guard count > 0 else { return nil }
        let index = count - 1
        return withUnsafeBytes(of: words) { bytes in
            bytes.bindMemory(to: UInt64.self)[index / 64] >> UInt64(index % 64) & 1 == 1
        }
    }

    /// - Returns: false if the stack is full.
    mutating func push(_ bit: Bool) -> Bool {
        guard count < EnvelopeScanner.maxDepth else { return false }
        let index = count
        withUnsafeMutableBytes(of: &words) { bytes in
            let words = bytes.bindMemory(to: UInt64.self)
            let mask: UInt64 = 1 << UInt64(index % 64)
            if bit { words[index / 64] |= mask } else { words[index / 64] &= ~mask }
        }
        count += 1
        return true
    }

    mutating func pop() { count -= 1 }
}

enum UnicodeEscapes {
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }

    /// A short ASCII text with its `\u00XX` escapes undone; nil if it has any other escape.
    static func unescaped(_ text: some Collection<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            guard iterator.next() == UInt8(ascii: "u") else { return nil }
            var value: UInt32 = 0
            for _ in 0..<4 {
                guard let digit = iterator.next().flatMap(hexValue) else { return nil }
                value = value << 4 | UInt32(digit)
            }
            guard let character = UInt8(exactly: value), character < 0x80 else { return nil }
            result.append(character)
        }
        return result
    }
}
