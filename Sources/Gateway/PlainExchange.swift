import DocumentModel
import WorkerProtocol
import Workers
import NIOCore
import NIOHTTP1

/// A request that the gateway answers itself.
final class PlainExchange: Exchange {
    private let status: HTTPResponseStatus
    private let headers: HTTPHeaders
    private let body: ByteBuffer
    private unowned let connection: GatewayHandler

    init(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, body: ByteBuffer, connection: GatewayHandler
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.connection = connection
    }

    func begin() {
        connection.send(status, headers, body: body)
    }

    func clientLeft() {}

    /// Answers a path of the gateway's own: the host's health, and in development the manifest for tools. Any other path
    /// is that of an unknown function.
    static func notFound(
        _ head: HTTPRequestHead, loop: GatewayLoop, connection: GatewayHandler
    ) -> PlainExchange {
        if head.method == .GET, head.uri == "/__/functions.yaml", loop.rules.hosts != nil {
            return PlainExchange(
                .ok, ["Content-Type": "text/yaml; charset=utf-8"],
                body: ByteBuffer(string: FunctionsDocument.yaml(loop.routes.functions.map(\.manifest))),
                connection: connection)
        }
        if head.method == .GET, head.uri == "/__/health" {
            return PlainExchange(
                .ok, ["Content-Type": "application/json; charset=utf-8"],
                body: ByteBuffer(string: #"{"status":"SERVING"}"#), connection: connection)
        }
        let suggestion = loop.rules.hosts == nil ? nil : loop.routes.suggestion(for: head.uri.prefix { $0 != "?" })
        let refusal = EarlyRefusal(unknown: head, suggestion: suggestion)
        return PlainExchange(refusal.status, refusal.headers, body: refusal.body, connection: connection)
    }
}
