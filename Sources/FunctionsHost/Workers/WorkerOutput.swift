import Logging
import NIOCore

/// Turns what a worker prints into log lines, and bounds them: a flood costs its own lines and nothing else.
final class WorkerOutput: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private static let maxLine = 16 * 1024
    private static let linesPerSecond = 1000

    private let logger: Logger
    private let level: Logger.Level
    private let filter: SecretFilter
    private let execution: @Sendable () -> String?
    private var line: [UInt8] = []
    private var isTruncated = false
    private var windowStart = NIODeadline.now()
    private var linesInWindow = 0
    private var dropped = 0

    /// - Parameter execution: the execution that the worker is at, where it is at exactly one.
    init(logger: Logger, level: Logger.Level, filter: SecretFilter, execution: @escaping @Sendable () -> String?) {
        self.logger = logger
        self.level = level
        self.filter = filter
        self.execution = execution
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var rest = unwrapInboundIn(data).readableBytesView[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            finishLine()
            rest = rest[rest.index(after: end)...]
        }
        append(rest)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !line.isEmpty { finishLine() }
        reportDropped()
    }

    private func append(_ bytes: ByteBufferView) {
        let room = Self.maxLine - line.count
        if bytes.count > room { isTruncated = true }
        line.append(contentsOf: bytes.prefix(room))
    }

    private func finishLine() {
        defer {
            line.removeAll(keepingCapacity: true)
            isTruncated = false
        }
        let now = NIODeadline.now()
        if now - windowStart >= .seconds(1) {
            reportDropped()
            windowStart = now
            linesInWindow = 0
        }
        linesInWindow += 1
        guard linesInWindow <= Self.linesPerSecond else {
            dropped += 1
            return
        }
        var metadata: Logger.Metadata = [:]
        if let execution = execution() { metadata["execution.id"] = "\(execution)" }
        if isTruncated { metadata["output.truncated"] = "true" }
        logger.log(level: level, "\(filter.filtered(String(decoding: line, as: UTF8.self)))", metadata: metadata)
    }

    private func reportDropped() {
        guard dropped > 0 else { return }
        logger.warning(
            "output was dropped", metadata: ["output.dropped": "\(dropped)", "output.limit": "1000 lines a second"])
        dropped = 0
    }
}
