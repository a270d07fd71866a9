import NIOCore
import StrictJSON

/// The id of the target that a message of Listen adds.
enum ListenTargetID {
    private static let addTarget: UInt64 = 2
    private static let targetID: UInt64 = 5

    /// Finds it without decoding the message, which may be too large for that, or have what isn't decoded.
    ///
    /// - Returns: nil if the message adds no target, or is malformed.
    static func find(in message: ByteBuffer) -> Int32? {
        guard case .bytes(let target)? = message.field(addTarget),
            case .integer(let id)? = target.field(targetID)
        else { return nil }
        return Int32(truncatingIfNeeded: id)
    }

    /// Finds it in a message of JSON, likewise.
    static func find(inJSON message: [UInt8]) -> Int32? {
        message.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            guard scanner.enter("addTarget"), scanner.enter("targetId"), case .integer(let id)? = scanner.nextNumber()
            else { return nil }
            return Int32(exactly: id)
        }
    }
}

extension JSONScanner {
    /// Moves to the value of an object's member; false if there is none.
    fileprivate mutating func enter(_ name: StaticString) -> Bool {
        skipSpace()
        guard take(UInt8(ascii: "{")) else { return false }
        do throws(JSONError) {
            repeat {
                skipSpace()
                if try isKey(name) { return true }
                try skipValue()
                skipSpace()
            } while take(UInt8(ascii: ","))
        } catch {
            return false
        }
        return false
    }

    fileprivate mutating func nextNumber() -> JSONNumber? {
        guard let first = peek(), first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else { return nil }
        return try? number()
    }
}

private enum ProtobufField {
    case integer(UInt64)
    case bytes(ByteBuffer)
}

extension ByteBuffer {
    /// More than a message of Listen or its target has.
    private static let maxFields = 100

    /// The first field of a number in a message of protobuf.
    fileprivate func field(_ number: UInt64) -> ProtobufField? {
        var rest = self
        for _ in 0..<Self.maxFields {
            guard let tag = rest.readProtobufInteger() else { return nil }
            let content: ProtobufField?
            switch tag & 7 {
            case 0: content = rest.readProtobufInteger().map { .integer($0) }
            case 1: content = rest.readSlice(length: 8).map { .bytes($0) }
            case 2:
                guard let length = rest.readProtobufInteger().flatMap({ Int(exactly: $0) }) else { return nil }
                content = rest.readSlice(length: length).map { .bytes($0) }
            case 5: content = rest.readSlice(length: 4).map { .bytes($0) }
            default: content = nil
            }
            guard let found = content else { return nil }
            if tag >> 3 == number { return found }
        }
        return nil
    }

    private mutating func readProtobufInteger() -> UInt64? {
        var (result, shift) = (UInt64(0), UInt64(0))
        while shift < 64, let byte = readInteger(as: UInt8.self) {
            result |= UInt64(byte & 0x7f) << shift
            guard byte & 0x80 != 0 else { return result }
            shift += 7
        }
        return nil
    }
}
