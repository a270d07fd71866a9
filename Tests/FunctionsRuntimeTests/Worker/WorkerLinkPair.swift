import NIOCore
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A worker's link, and the host's end of it.
final class WorkerLinkPair {
    let host: Int32
    let writer: LinkWriter
    private let link: Int32
    private var parser = FrameParser()

    init() throws {
        var pair: [Int32] = [0, 0]
        #if os(Linux)
            let type = Int32(SOCK_STREAM.rawValue)
        #else
            let type = SOCK_STREAM
        #endif
        try #require(socketpair(AF_UNIX, type, 0, &pair) == 0)
        (host, link) = (pair[0], pair[1])
        writer = LinkWriter(descriptor: link)
    }

    deinit { for descriptor in [host, link] { close(descriptor) } }

    /// The frames that the worker has written and that weren't taken.
    func frames() throws -> [Frame] {
        var bytes = ByteBuffer()
        while bytes.writeWithUnsafeMutableBytes(
            minimumWritableBytes: 1 << 16,
            { max(0, recv(host, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))) }
        ) > 0 {}
        parser.append(&bytes)
        var frames: [Frame] = []
        while let frame = try parser.next() { frames.append(frame) }
        return frames
    }
}
