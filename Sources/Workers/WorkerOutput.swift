import WorkerProtocol
import Logging
import NIOCore

/// Splits a worker's output into log lines of bounded length, and a crash into one record.
final class WorkerOutput: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let worker: Worker
    private let level: Logger.Level
    private var line: [UInt8] = []
    private var isTruncated = false
    /// Nil for standard output, which has no reports of crashes.
    private var crash: CrashReport?

    init(_ worker: Worker, isErrors: Bool) {
        self.worker = worker
        level = isErrors ? .warning : .info
        crash = isErrors ? CrashReport() : nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        var lines = 0
        var rest = bytes.readableBytesView[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            finishLine()
            lines += 1
            rest = rest[rest.index(after: end)...]
        }
        append(rest)
        if let pause = worker.pause(afterReading: bytes.readableBytes, lines: lines) {
            self.rest(for: pause, context.channel)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // The process ended in the middle of a line.
        if !line.isEmpty { finishLine(isBeginning: true) }
        for output in crash?.end() ?? [] { write(output) }
        if crash != nil { worker.errorsEnded() }
    }

    /// Stops reading for some time. Only the worker that prints too much waits.
    private func rest(for time: TimeAmount, _ channel: any Channel) {
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        channel.eventLoop.scheduleTask(in: time) { channel.setOption(.autoRead, value: true) }
    }

    private func append(_ bytes: ByteBufferView) {
        let room = LogLine.maxText - line.count
        if bytes.count > room { isTruncated = true }
        line.append(contentsOf: bytes.prefix(room))
    }

    private func finishLine(isBeginning: Bool = false) {
        defer {
            line.removeAll(keepingCapacity: true)
            isTruncated = false
        }
        let filter = worker.launch.secretFilter
        let text =
            isTruncated || isBeginning
            ? filter.filtered(beginning: line) : filter.filtered(String(decoding: line, as: UTF8.self))
        let known = crash?.message
        for output in crash?.read(text) ?? [.line(text)] { write(output) }
        if let message = crash?.message, message != known { worker.crashed(message) }
    }

    private func write(_ output: CrashReport.Output) {
        if case .record(let record) = output { worker.crashed(record.message) }
        guard worker.mayWriteLine() else { return }
        var metadata: Logger.Metadata = [:]
        if let execution = worker.soleExecution { metadata["execution.id"] = "\(execution)" }
        switch output {
        case .line(let text):
            if isTruncated { metadata["output.truncated"] = "true" }
            worker.lineLogger.log(level: level, "\(text)", metadata: metadata)
        case .record(let record):
            metadata["error"] = "\(record.message)"
            if !record.frames.isEmpty { metadata["backtrace"] = "\(record.frames.joined(separator: "; "))" }
            worker.logger.log(level: .error, "the function crashed", metadata: metadata)
        }
    }
}
