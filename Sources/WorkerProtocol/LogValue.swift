import NIOCore

/// A value of a log line's metadata.
package enum LogValue: Equatable, Sendable {
    case text(String)
    /// Only the host's own lines have numbers.
    case number(Double)
    case list([LogValue])
    case members([String: LogValue])

    /// How deeply lists and members may be nested on a link.
    package static let maxDepth = 8

    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var number: Double? { if case .number(let number) = self { number } else { nil } }
}

extension LogValue: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) { self = .text(value) }
}

// MARK: Coding

extension LogValue {
    private enum Kind {
        static let text: UInt8 = 0
        static let number: UInt8 = 1
        static let list: UInt8 = 2
        static let members: UInt8 = 3
    }

    /// About its size in a frame.
    var byteCount: Int {
        switch self {
        case .text(let text): 5 + text.utf8.count
        case .number: 9
        case .list(let values): values.reduce(3) { $0 + $1.byteCount }
        case .members(let members): members.reduce(3) { $0 + 4 + $1.key.utf8.count + $1.value.byteCount }
        }
    }

    func write(to buffer: inout ByteBuffer) {
        switch self {
        case .text(let text):
            buffer.writeInteger(Kind.text)
            buffer.writeText(text)
        case .number(let number):
            buffer.writeInteger(Kind.number)
            buffer.writeInteger(number.bitPattern)
        case .list(let values):
            buffer.writeInteger(Kind.list)
            buffer.writeInteger(UInt16(clamping: values.count))
            for value in values.prefix(Int(UInt16.max)) { value.write(to: &buffer) }
        case .members(let members):
            buffer.writeInteger(Kind.members)
            buffer.writeInteger(UInt16(clamping: members.count))
            for (key, value) in members.prefix(Int(UInt16.max)) {
                buffer.writeText(key)
                value.write(to: &buffer)
            }
        }
    }

    init(from buffer: inout ByteBuffer, depth: Int = 0) throws(ProtocolViolation) {
        guard depth <= Self.maxDepth else { throw ProtocolViolation("a log line's metadata is nested too deeply") }
        switch try buffer.read(UInt8.self) {
        case Kind.text: self = .text(try buffer.readText())
        case Kind.number: self = .number(Double(bitPattern: try buffer.read(UInt64.self)))
        case Kind.list:
            var values: [LogValue] = []
            for _ in 0..<(try buffer.read(UInt16.self)) { values.append(try LogValue(from: &buffer, depth: depth + 1)) }
            self = .list(values)
        case Kind.members:
            var members: [String: LogValue] = [:]
            for _ in 0..<(try buffer.read(UInt16.self)) {
                let key = try buffer.readText()
                members[key] = try LogValue(from: &buffer, depth: depth + 1)
            }
            self = .members(members)
        case let kind: throw ProtocolViolation("a log line's metadata has a value of the unknown kind \(kind)")
        }
    }
}
