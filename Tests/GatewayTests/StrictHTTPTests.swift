import Gateway
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

/// What stands before the servers of the other ports.
@Suite struct StrictHTTPTests {
    /// A server's connection, and what its handler sees and answers.
    private final class Connection {
        let channel = EmbeddedChannel()

        init(hosts: LocalHosts? = nil) throws {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
            try channel.pipeline.syncOperations.addHandler(StrictHTTPHandler.Installer(PortRules(hosts: hosts)))
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }

        func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

        /// The paths of the requests that have come since.
        func requests() throws -> [String] {
            var paths: [String] = []
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                if case .head(let head) = part { paths.append(head.uri) }
            }
            return paths
        }

        func answer(_ body: String, _ headers: HTTPHeaders = [:]) throws {
            try channel.writeOutbound(
                HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)))
            try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: body))))
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
        }

        /// All that was sent to the client since.
        func received() throws -> String {
            var text = ""
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }
    }

    @Test func requestsAndAnswersPass() throws {
        let connection = try Connection()
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == ["/a"])
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("\r\n\r\nhello"))
        _ = try connection.channel.finish()
    }

    @Test(arguments: [
        "GET /a HTTP/1.1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ])
    func anAmbiguousRequestIsRefused(text: String) throws {
        let connection = try Connection()
        try connection.send(text)
        #expect(try connection.requests() == [])
        let answer = try connection.received()
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
        #expect(answer.contains(#"{"error":{"code":400,"message":""#))
        #expect(!connection.channel.isActive)
    }

    /// Otherwise the client would take the refusal for the answer to its first request.
    @Test func aRefusalWaitsForTheAnswersBeforeIt() throws {
        let connection = try Connection()
        try connection.send(
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requests() == ["/a"])
        #expect(try connection.received() == "")
        try connection.answer("hello", ["Content-Length": "5"])
        let answers = try connection.received()
        #expect(answers.contains("helloHTTP/1.1 400 "))
        #expect(!connection.channel.isActive)
    }

    @Test func anotherNameIsMisdirected() throws {
        let connection = try Connection(hosts: LocalHosts(setting: "listen.hosts"))
        try connection.send("GET /a HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        #expect(try connection.requests() == [])
        #expect(try connection.received().hasPrefix("HTTP/1.1 421 "))
    }

    @Test func anAnswerToHEADHasNoBody() throws {
        let connection = try Connection()
        for headers in [["Content-Length": "5"], [:]] as [HTTPHeaders] {
            try connection.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try connection.requests() == ["/a"])
            try connection.answer("hello", headers)
            let answer = try connection.received().lowercased()
            #expect(answer.hasSuffix("\r\n\r\n"))
            #expect(answer.contains("content-length: 5\r\n"))
            #expect(!answer.contains("transfer-encoding"))
        }
        // The next request isn't a HEAD.
        try connection.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        try connection.answer("hello", ["Content-Length": "5"])
        #expect(try connection.received().hasSuffix("hello"))
        _ = try connection.channel.finish()
    }
}
