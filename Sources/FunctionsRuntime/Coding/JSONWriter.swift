/// Writes JSON, compact and with no more escapes than needed.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    /// Whether whole numbers that JavaScript can't hold are wrapped.
    private let wrapsIntegers: Bool

    init(wrapsIntegers: Bool) {
        self.wrapsIntegers = wrapsIntegers
        bytes.reserveCapacity(256)
    }

    /// - Throws: where a number is infinite or not a number.
    mutating func write(_ value: JSONValue) throws(JSONError) {
        switch value {
        case .null: write(word: "null")
        case .bool(let value): write(word: value ? "true" : "false")
        case .integer(let value):
            if wrapsIntegers, value.magnitude > UInt64(IntegerWrapper.largestExact) {
                wrap(String(value), IntegerWrapper.int64)
            } else {
                write(magnitude: value.magnitude, negative: value < 0)
            }
        case .unsigned(let value):
            if wrapsIntegers, value > UInt64(IntegerWrapper.largestExact) {
                wrap(String(value), IntegerWrapper.uint64)
            } else {
                write(magnitude: value, negative: false)
            }
        case .double(let value): try write(value)
        case .string(let value): write(quoted: value)
        case .array(let elements):
            try write(elements: elements) { (writer, element) throws(JSONError) in try writer.write(element) }
        case .object(let object):
            try write(members: object.members) { (writer, member) throws(JSONError) in try writer.write(member) }
        }
    }

    /// - Throws: where a number is infinite or not a number, or a part has no form in JSON.
    mutating func write(_ node: EncodedNode) throws(JSONError) {
        switch node {
        case .json(let value): try write(value)
        case .array(let elements):
            try write(elements: elements) { (writer, element) throws(JSONError) in try writer.write(element) }
        case .map(let fields):
            try write(members: fields) { (writer, member) throws(JSONError) in try writer.write(member) }
        case .field: throw JSONError("a FieldValue is written to documents only")
        }
    }

    private mutating func write<Element>(
        elements: [Element], _ write: (inout JSONWriter, Element) throws(JSONError) -> Void
    ) throws(JSONError) {
        bytes.append(UInt8(ascii: "["))
        for index in elements.indices {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            do { try write(&self, elements[index]) } catch { throw error.inside(.index(index)) }
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func write<Member>(
        members: KeyedList<Member>, _ write: (inout JSONWriter, Member) throws(JSONError) -> Void
    ) throws(JSONError) {
        bytes.append(UInt8(ascii: "{"))
        var first = true
        for entry in members.entries {
            if !first { bytes.append(UInt8(ascii: ",")) }
            first = false
            self.write(quoted: entry.key)
            bytes.append(UInt8(ascii: ":"))
            do { try write(&self, entry.value) } catch { throw error.inside(.name(entry.key)) }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func write(word text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func write(magnitude: UInt64, negative: Bool) {
        if negative { bytes.append(UInt8(ascii: "-")) }
        if magnitude < 10 {
            bytes.append(48 + UInt8(magnitude))
            return
        }
        let first = bytes.count
        var rest = magnitude
        while rest > 0 {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(48 + UInt8(truncatingIfNeeded: digit))
            rest = quotient
        }
        bytes[first...].reverse()
    }

    private mutating func wrap(_ digits: String, _ type: String) {
        bytes.append(contentsOf: "{\"@type\":\"\(type)\",\"value\":\"\(digits)\"}".utf8)
    }

    private mutating func write(_ value: Double) throws(JSONError) {
        guard value.isFinite else { throw JSONError("JSON has no number for \(value)") }
        if abs(value) <= Double(IntegerWrapper.largestExact), value == value.rounded(.towardZero) {
            write(magnitude: UInt64(abs(value)), negative: value.sign == .minus)
        } else {
            bytes.append(contentsOf: value.description.utf8)
        }
    }

    private mutating func write(quoted text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { buffer in
            var written = 0
            for index in buffer.indices {
                let byte = buffer[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[written..<index]))
                writeEscape(byte)
                written = index + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[written...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func writeEscape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
    }
}
