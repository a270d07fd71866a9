import DocumentModel
import NIOCore
import TestSupport
import Testing
import WorkerProtocol

@testable import FunctionsRuntime

/// How the parts of a streamed body become frames.
@Suite(.endsHangs) struct GatheringTests {
    /// A response and the host's end of its link.
    private final class Link {
        let response: ResponseStream
        private let pair: WorkerLinkPair

        init() throws {
            pair = try WorkerLinkPair()
            response = ResponseStream(of: 7, to: pair.writer)
        }

        /// The frames that have arrived: a chunk's text, and the text of the end after `=` or `!`.
        func frames() throws -> [String] {
            try pair.frames().map { frame in
                #expect(frame.invocation == 7)
                return switch frame.kind {
                case .chunk: String(buffer: frame.payload)
                case .result: "=" + String(buffer: frame.payload)
                case .failure: "!"
                default: "\(frame.kind)"
                }
            }
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
