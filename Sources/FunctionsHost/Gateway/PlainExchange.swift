import DocumentModel
import NIOCore
import NIOHTTP1
import WorkerProtocol

/// A request that the gateway answers by itself.
final class PlainExchange: Exchange {
    private let status: HTTPResponseStatus
    private let headers: HTTPHeaders
    private let body: ByteBuffer
    private let received: Int
    private unowned let connection: GatewayHandler

    init(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, body: ByteBuffer, received: Int,
        connection: GatewayHandler
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.received = received
        self.connection = connection
    }

    func begin() {
        connection.released(received)
        connection.send(status, headers, body: body)
    }

    func clientLeft() {}

    /// The manifest for tools, or 404: there is no such function.
    static func notFound(
        _ head: HTTPRequestHead, _ received: ByteBuffer, loop: GatewayLoop, connection: GatewayHandler
    ) -> PlainExchange {
        if head.method == .GET && head.uri == "/__/functions.yaml" {
            return PlainExchange(
                .ok, ["Content-Type": "text/yaml; charset=utf-8"],
                body: ByteBuffer(string: FunctionsDocument.yaml(loop.routes.functions.map(\.manifest))),
                received: received.readableBytes, connection: connection)
        }
        var body = ByteBuffer()
        let path = head.uri.prefix { $0 != "?" }
        ErrorBody.write(
            InvocationFailure(code: .notFound, message: "There is no function at \(path)."), to: &body)
        return PlainExchange(
            .notFound, ["Content-Type": "application/json; charset=utf-8"], body: body,
            received: received.readableBytes, connection: connection)
    }
}
