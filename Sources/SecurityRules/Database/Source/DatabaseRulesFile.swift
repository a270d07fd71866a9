/// A value of a Realtime Database's rules file: JSON with comments, whose strings may span lines.
struct DatabaseRulesFile {
    indirect enum Value {
        case object([Member])
        case array([DatabaseRulesFile])
        case string(RulesFileString)
        case boolean(Bool)
        /// A number or null, which no rule can be.
        case other
    }

    struct Member {
        var key: RulesFileString
        var value: DatabaseRulesFile
    }

    var value: Value
    /// The offset of the first byte.
    var offset: Int

    /// Why a file can't be read.
    struct Problem: Error {
        var offset: Int
        var message: String
    }

    /// The text as strict JSON: without comments, and with escaped control characters in strings.
    ///
    /// - Parameter source: a file that can be read.
    static func strictJSON(_ source: [UInt8]) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(source.count)
        var isInString = false
        // A byte order mark is none of JSON.
        var place = source.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while place < source.count {
            let byte = source[place]
            let next = place + 1 < source.count ? source[place + 1] : 0
            place += 1
            if isInString {
                switch byte {
                case UInt8(ascii: "\\"):
                    result += [byte, next]
                    place += 1
                case UInt8(ascii: "\n"): result += "\\n".utf8
                case UInt8(ascii: "\r"): result += "\\r".utf8
                case UInt8(ascii: "\t"): result += "\\t".utf8
                case 0..<0x20: result += "\\u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))".utf8
                default:
                    isInString = byte != UInt8(ascii: "\"")
                    result.append(byte)
                }
            } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/") {
                while place < source.count, source[place] != UInt8(ascii: "\n") { place += 1 }
            } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
                place += 1
                while place + 1 < source.count,
                    !(source[place] == UInt8(ascii: "*") && source[place + 1] == UInt8(ascii: "/"))
                {
                    place += 1
                }
                place += 2
            } else {
                isInString = byte == UInt8(ascii: "\"")
                // The file may have vertical tabs and form feeds between its tokens.
                result.append(byte == 0x0B || byte == 0x0C ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}

/// The content of a string of a rules file, and where each of its bytes stands.
struct RulesFileString: Sendable {
    var bytes: [UInt8]
    /// The offset in the file of the first byte of the content.
    var start: Int
    /// The offsets in the file of all bytes and of the end; nil if there are no escapes.
    var offsets: [Int32]?

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The offset in the file of the quote before the content.
    var quote: Int { start - 1 }

    /// The offset in the file of a byte of the content.
    func sourceOffset(of offset: Int) -> Int {
        guard let offsets else { return start + offset }
        return Int(offsets[min(offset, offsets.count - 1)])
    }
}
