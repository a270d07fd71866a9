import DocumentModel
import NIOCore
import TestSupport
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

/// How the parts of a streamed body become frames.
@Suite(.endsHangs) struct GatheringTests {
    /// A response and the host's end of its link.
    private final class Link {
        let response: ResponseStream
        private let host: Int32
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
            response = ResponseStream(of: 7, to: LinkWriter(descriptor: link))
        }

        deinit { for descriptor in [host, link] { close(descriptor) } }

        /// The frames that have arrived: a chunk's text, and the text of the end after `=` or `!`.
        func frames() throws -> [String] {
            var all: [String] = []
            var bytes = ByteBuffer()
            while bytes.writeWithUnsafeMutableBytes(
                minimumWritableBytes: 1 << 16,
                { max(0, recv(host, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))) }
            ) > 0 {}
            parser.append(&bytes)
            while let frame = try parser.next() {
                #expect(frame.invocation == 7)
                switch frame.kind {
                case .chunk: all.append(String(buffer: frame.payload))
                case .result: all.append("=" + String(buffer: frame.payload))
                case .failure: all.append("!")
                default: all.append("\(frame.kind)")
                }
            }
            return all
        }

        func take(_ bytes: Int) {
            if response.receiveCredit(bytes) { response.sendGathered() }
        }
    }

    private func part(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    @Test func smallPartsGoTogetherOnceEarlierOnesAreTaken() async throws {
        let link = try Link()
        try await link.response.write(part("a"))
        #expect(try link.frames() == ["a"])
        for letter in ["b", "c", "d"] { try await link.response.write(part(letter)) }
        #expect(try link.frames() == [])
        link.take(1)
        #expect(try link.frames() == ["bcd"])
        // Some of it is still on its way.
        link.take(1)
        try await link.response.write(part("e"))
        #expect(try link.frames() == [])
        link.take(2)
        #expect(try link.frames() == ["e"])
        link.take(1)
        // After a pause, at once again.
        try await link.response.write(part("f"))
        #expect(try link.frames() == ["f"])
        try await link.response.write(part("g"))
        link.response.end(Array("!".utf8))
        #expect(try link.frames() == ["=g!"])
    }

    @Test func fullChunksDontWait() async throws {
        let link = try Link()
        try await link.response.write(part("a"))
        let half = String(repeating: "x", count: 40_000)
        try await link.response.write(part(half))
        #expect(try link.frames() == ["a"])
        try await link.response.write(part(half))
        #expect(try link.frames() == [half + half])
    }

    @Test func whatWasWrittenPrecedesAFailure() async throws {
        let link = try Link()
        for letter in ["a", "b", "c"] { try await link.response.write(part(letter)) }
        link.response.fail(InvocationFailure(code: .internal, message: "INTERNAL"))
        #expect(try link.frames() == ["a", "bc", "!"])
        await #expect(throws: CancellationError.self) { try await link.response.write(part("d")) }
        await #expect(throws: CancellationError.self) { try await link.response.send(chunk: part("d")) }
        link.take(3)
        #expect(try link.frames() == [])
    }

    /// Work that a handler has started isn't cancelled with it.
    @Test func aCancelledStreamEndsItsWriters() async throws {
        let link = try Link()
        link.response.cancel()
        await #expect(throws: CancellationError.self) { try await link.response.write(part("a")) }
        await #expect(throws: CancellationError.self) { try await link.response.send(chunk: part("a")) }
    }
}
