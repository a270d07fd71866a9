package import FunctionManifest
package import NIOCore

extension ParamValues {
    package func write(to buffer: inout ByteBuffer) {
        buffer.writeText(function)
        buffer.writeInteger(UInt32(values.count))
        for (name, value) in values {
            buffer.writeText(name)
            switch value {
            case .string(let text):
                buffer.writeInteger(Tag.string.rawValue)
                buffer.writeText(text)
            case .int(let number):
                buffer.writeInteger(Tag.int.rawValue)
                buffer.writeInteger(Int64(number))
            case .float(let number):
                buffer.writeInteger(Tag.float.rawValue)
                buffer.writeInteger(number.bitPattern)
            case .boolean(let flag):
                buffer.writeInteger(Tag.boolean.rawValue)
                buffer.writeInteger(UInt8(flag ? 1 : 0))
            case .list(let texts):
                buffer.writeInteger(Tag.list.rawValue)
                buffer.writeInteger(UInt32(texts.count))
                for text in texts { buffer.writeText(text) }
            }
        }
        buffer.writeInteger(UInt32(secrets.count))
        for (name, text) in secrets {
            buffer.writeText(name)
            buffer.writeText(text)
        }
    }

    package init(from buffer: inout ByteBuffer) throws(ProtocolViolation) {
        self.init(function: try buffer.readText())
        for _ in 0..<(try buffer.read(UInt32.self)) {
            let name = try buffer.readText()
            values[name] = try Self.value(&buffer)
        }
        for _ in 0..<(try buffer.read(UInt32.self)) {
            let name = try buffer.readText()
            secrets[name] = try buffer.readText()
        }
    }

    private enum Tag: UInt8 { case string, int, boolean, list, float }

    private static func value(_ buffer: inout ByteBuffer) throws(ProtocolViolation) -> ParamValue {
        switch Tag(rawValue: try buffer.read(UInt8.self)) {
        case .string: return .string(try buffer.readText())
        case .int: return .int(Int(try buffer.read(Int64.self)))
        case .boolean: return .boolean(try buffer.read(UInt8.self) != 0)
        case .list:
            var texts: [String] = []
            for _ in 0..<(try buffer.read(UInt32.self)) { texts.append(try buffer.readText()) }
            return .list(texts)
        case .float:
            let number = Double(bitPattern: try buffer.read(UInt64.self))
            guard number.isFinite else { throw ProtocolViolation("a param isn't a finite number") }
            return .float(number)
        case nil: throw ProtocolViolation("a param has an unknown type")
        }
    }
}
