import WorkerProtocol
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A worker that isn't built with the runtime, and violates the protocol as each call requests.
enum RogueWorker {
    static func run() -> Never {
        let count = getenv(WorkerEnvironment.linkCountVariable).flatMap { Int32(String(cString: $0)) } ?? 0
        var links = (0..<count).map { Link(descriptor: WorkerEnvironment.firstDescriptor + $0) }
        for index in links.indices { links[index].ready() }
        while true {
            var polls = links.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            poll(&polls, nfds_t(polls.count), -1)
            for index in polls.indices where polls[index].revents != 0 { links[index].read() }
        }
    }
}

private struct Link {
    let descriptor: Int32
    private var parser = FrameParser()

    init(descriptor: Int32) { self.descriptor = descriptor }

    func ready() { write { $0.writeFrame(.ready) { $0.writeInteger(Frame.protocolVersion) } } }

    mutating func read() {
        var bytes = ByteBuffer()
        let descriptor = descriptor
        let count = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: 65_536) {
            max(0, recv(descriptor, $0.baseAddress, $0.count, 0))
        }
        guard count > 0 else { exit(0) }
        parser.append(&bytes)
        while let frame = try? parser.next() {
            guard frame.kind == .invoke else { continue }
            var payload = frame.payload
            guard (try? InvocationHead(from: &payload)) != nil else { exit(65) }
            misbehave(String(buffer: payload), frame.invocation)
        }
    }

    private func misbehave(_ mode: String, _ invocation: UInt64) {
        switch mode {
        case #""answersTwice""#:
            write {
                $0.writeFrame(.result, invocation: invocation) { $0.writeString("1") }
                $0.writeFrame(.result, invocation: invocation) { $0.writeString("2") }
            }
        case #""closesLink""#:
            close(descriptor)
            while true { sleep(3600) }
        case #""writesGarbage""#: write { $0.writeRepeatingByte(255, count: 4096) }
        case #""isReadyTwice""#: ready()
        case #""readsNothing""#:
            // Encoded: reads the document large/1.
            let get: [UInt8] = [1, 1, 7] + Array("large/1".utf8) + [0]
            write { bytes in
                for number in 1...450 as ClosedRange<UInt32> {
                    bytes.writeFrame(.documentRequest, invocation: invocation) {
                        $0.writeInteger(number)
                        $0.writeBytes(get)
                    }
                }
            }
            // Until the host is gone.
            var end = pollfd(fd: descriptor, events: 0, revents: 0)
            poll(&end, 1, -1)
            exit(0)
        case #""invokesTheHost""#: write { $0.writeFrame(.invoke, invocation: invocation) }
        case #""floodsStream""#:
            for _ in 0..<10_000 {
                write {
                    $0.writeFrame(.chunk, invocation: invocation) {
                        $0.writeString("\"")
                        $0.writeRepeatingByte(120, count: 65_536)
                        $0.writeString("\"")
                    }
                }
            }
        case #""floodsLog""#:
            let line = LogLine(level: 2, label: "rogue", message: "a line of a flood", metadata: [:])
            write { bytes in
                for _ in 0..<50_000 { bytes.writeFrame(.log, invocation: invocation) { line.write(to: &$0) } }
            }
            write { $0.writeFrame(.result, invocation: invocation) { $0.writeString("1") } }
        default: write { $0.writeFrame(.result, invocation: invocation) { $0.writeString(mode) } }
        }
    }

    private func write(_ body: (inout ByteBuffer) -> Void) {
        var bytes = ByteBuffer()
        body(&bytes)
        while bytes.readableBytes > 0 {
            let count = bytes.withUnsafeReadableBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { exit(0) }
            bytes.moveReaderIndex(forwardBy: count)
        }
    }
}
