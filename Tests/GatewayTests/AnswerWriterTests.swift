@testable import Gateway
import NIOCore
import NIOHTTP1
import Testing

@Suite struct AnswerWriterTests {
    private func answer(
        _ status: HTTPResponseStatus = .ok, length: Int?, _ request: AnswerRequest, parts: [String]
    ) -> String {
        var writer = AnswerWriter()
        var bytes = ByteBuffer()
        writer.head(status, ["X-A": "1"], length: length, request: request, date: "now", into: &bytes)
        for part in parts { writer.part(AnswerPart(content: ByteBuffer(string: part)), into: &bytes) }
        writer.end(into: &bytes)
        return String(buffer: bytes)
    }

    private static let head = "HTTP/1.1 200 OK\r\nX-A: 1\r\nDate: now\r\n"

    @Test func wholeBodyHasALength() {
        #expect(
            answer(length: 2, .init(keepsAlive: true), parts: ["hi"]) == Self.head + "Content-Length: 2\r\n\r\nhi")
    }

    @Test func streamedBodyIsChunked() {
        #expect(
            answer(length: nil, .init(keepsAlive: true), parts: ["hello world, hello", "", "x"])
                == Self.head
                + "Transfer-Encoding: chunked\r\n\r\n12\r\nhello world, hello\r\n1\r\nx\r\n0\r\n\r\n")
    }

    @Test func oldClientsReadUntilTheConnectionCloses() {
        let request = AnswerRequest(isOld: true, keepsAlive: true)
        #expect(answer(length: nil, request, parts: ["hi"]) == Self.head + "Connection: close\r\n\r\nhi")
        #expect(
            answer(length: 2, request, parts: ["hi"])
                == Self.head + "Content-Length: 2\r\nConnection: keep-alive\r\n\r\nhi")
    }

    @Test func headHasTheHeadersAndNoBody() {
        let request = AnswerRequest(isHead: true, keepsAlive: true)
        #expect(answer(length: 2, request, parts: ["hi"]) == Self.head + "Content-Length: 2\r\n\r\n")
        #expect(answer(length: nil, request, parts: ["hi"]) == Self.head + "Transfer-Encoding: chunked\r\n\r\n")
    }

    /// What GET's answer has is meant, whose body may not have been made.
    @Test func headWithoutABodyHasNoLength() {
        let request = AnswerRequest(isHead: true, keepsAlive: true)
        #expect(answer(length: 0, request, parts: []) == Self.head + "\r\n")
        #expect(answer(length: 0, .init(keepsAlive: true), parts: []) == Self.head + "Content-Length: 0\r\n\r\n")
    }

    @Test(arguments: [HTTPResponseStatus.noContent, .notModified])
    func statusesWithoutABodyHaveNone(status: HTTPResponseStatus) {
        let text = answer(status, length: 2, .init(keepsAlive: true), parts: ["hi"])
        #expect(text.hasSuffix("\r\nX-A: 1\r\nDate: now\r\n\r\n"))
    }

    @Test func connectionThatEndsIsTold() {
        #expect(
            answer(length: 0, .init(), parts: []) == Self.head + "Content-Length: 0\r\nConnection: close\r\n\r\n")
    }
}
