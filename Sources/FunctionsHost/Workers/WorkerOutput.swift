import Logging
import NIOCore

/// Turns what a worker prints into log lines, each of a bounded length.
final class WorkerOutput: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    static let maxLine = 16 * 1024

    private let worker: Worker
    private let level: Logger.Level
    private var line: [UInt8] = []
    private var isTruncated = false

    init(_ worker: Worker, level: Logger.Level) {
        self.worker = worker
        self.level = level
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
        guard worker.mayWriteLine() else { return }
        var metadata: Logger.Metadata = [:]
        if let execution = worker.soleExecution { metadata["execution.id"] = "\(execution)" }
        if isTruncated { metadata["output.truncated"] = "true" }
        let text = worker.pool.launch.secretFilter.filtered(String(decoding: line, as: UTF8.self))
        worker.logger.log(level: level, "\(text)", metadata: metadata)
    }
}
