package import NIOCore

/// A line that a handler logged.
package struct LogLine: Equatable, Sendable {
    /// swift-log's level as an index: 0 for trace to 6 for critical.
    package var level: UInt8
    package var label: String
    package var message: String
    package var metadata: [String: LogValue]

    package init(level: UInt8, label: String, message: String, metadata: [String: LogValue]) {
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(level)
        buffer.writeText(label)
        buffer.writeText(message)
        let texts = metadata.compactMap { key, value in value.text.map { (key, $0) } }
        buffer.writeInteger(UInt16(clamping: texts.count))
        for (key, value) in texts.prefix(Int(UInt16.max)) {
            buffer.writeText(key)
            buffer.writeText(value)
        }
        // After all else, where a host that doesn't know of them ignores them.
        for (key, value) in metadata where value.text == nil {
            buffer.writeText(key)
            value.write(to: &buffer)
        }
    }

    package init(from buffer: inout ByteBuffer) throws(ProtocolViolation) {
        level = try buffer.read(UInt8.self)
        label = try buffer.readText()
        message = try buffer.readText()
        metadata = [:]
        for _ in 0..<(try buffer.read(UInt16.self)) {
            let key = try buffer.readText()
            metadata[key] = .text(try buffer.readText())
        }
        while buffer.readableBytes > 0 {
            let key = try buffer.readText()
            metadata[key] = try LogValue(from: &buffer)
        }
    }
}
