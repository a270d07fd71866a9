import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The connections of one client: to services, and to the proxies that the environment names.
final class Connections: Sendable {
    private let settings: NetworkSettings
    private let direct: HTTPClient
    /// Through the proxy for https, which doesn't see the requests.
    private let tunnels: HTTPClient?
    /// To the proxy for http, which receives the requests: many allow tunnels for https only.
    private let forwarding: HTTPClient?

    /// More than the document operations that may be under way at a time, so that the end of a transaction waits for
    /// none of them.
    private static let maxConnectionsPerHost = 192

    init(_ settings: NetworkSettings) {
        self.settings = settings
        let configuration = Self.configuration(settings)
        direct = Self.client(configuration)
        tunnels = settings.proxy(scheme: "https").map { proxy in
            var configuration = configuration
            configuration.proxy = .server(host: proxy.host, port: proxy.port, authorization: proxy.authorization)
            return Self.client(configuration)
        }
        forwarding = settings.proxy(scheme: "http").map { _ in
            var configuration = configuration
            configuration.http1_1ConnectionDebugInitializer = { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
                    try pipeline.addHandler(AbsoluteForm(), position: .after(encoder))
                }
            }
            return Self.client(configuration)
        }
    }

    /// An HTTPClient that isn't shut down traps when it is freed. It needn't be waited for: no exchange is under way,
    /// since each holds on to these connections, and idle connections just close.
    deinit {
        for client in [direct, tunnels, forwarding] { client?.shutdown { _ in } }
    }

    private static func client(_ configuration: HTTPClient.Configuration) -> HTTPClient {
        HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
    }

    private static func configuration(_ settings: NetworkSettings) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            // Exchanges have bounds of their own. This one ends connections that no exchange waits for any more, so that those
            // to come don't wait for them; it also bounds the wait for one of the connections that a host may have.
            timeout: .init(connect: .seconds(10)))
        // An HTTP/2 response that is followed by RST_STREAM would end the process (async-http-client #922).
        configuration.httpVersion = .http1Only
        // Before servers do: a request on a connection that is just being closed is lost. Node's do after 5 s.
        configuration.connectionPool.idleTimeout = .seconds(4)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = maxConnectionsPerHost
        // A refused connection is an error at once. It takes along those that wait for one to the same host, so each
        // exchange is begun once more.
        configuration.connectionPool.retryConnectionEstablishment = false
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let file = settings.rootsFile { tls.trustRoots = .file(file) }
        configuration.tlsConfiguration = tls
        return configuration
    }

    /// Prepares a request, whose connection is opened once it starts.
    ///
    /// - Throws: if the request can't be sent.
    func start(_ request: OutboundRequest, to url: URL, host: String) throws(OutboundError) -> OpenExchange.Start {
        do {
            let scheme = url.scheme?.lowercased() ?? ""
            let proxy = try settings.proxy(scheme: scheme, host: url.host ?? "")
            var (client, target, headers) = (direct, url, request.fields(to: url))
            if proxy != nil, let tunnels, scheme == "https" {
                // Without a name, the certificate would be compared with the proxy's address.
                guard SocketAddress(host: url.host ?? "") == nil else {
                    throw HTTPProxy.Unusable(reason: "an https address needs a name to be reached by a proxy")
                }
                client = tunnels
            } else if let proxy, let forwarding {
                guard let address = url.sent(to: proxy) else { throw HTTPClientError.invalidURL }
                (client, target) = (forwarding, address)
                headers.replaceOrAdd(name: "Host", value: url.authority)
                let login = proxy.authorization?.headerValue
                if let login { headers.add(name: "Proxy-Authorization", value: login) }
            }
            let message = try HTTPClient.Request(
                url: target, method: HTTPMethod(rawValue: request.verb), headers: headers,
                body: request.body.map { .byteBuffer(ByteBuffer(bytes: $0)) })
            return { [client] in client.execute(request: message, delegate: $0) }
        } catch let error as HTTPProxy.Unusable {
            throw OutboundError(.notSent, host: host, error.reason)
        } catch {
            throw OutboundError(error, host: host)
        }
    }
}

/// Makes the requests to a proxy name the service, too (RFC 9112, section 3.2.2).
private final class AbsoluteForm: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .head(var head) = part, let host = head.headers.first(name: "Host") {
            head.uri = "http://" + host + head.uri
            part = .head(head)
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}

extension OutboundRequest {
    fileprivate func fields(to url: URL) -> HTTPHeaders {
        var fields = HTTPHeaders()
        for (name, value) in headers { fields.replaceOrAdd(name: name, value: value) }
        // Some services refuse requests without these.
        if !fields.contains(name: "Accept") { fields.add(name: "Accept", value: "*/*") }
        if !fields.contains(name: "Accept-Encoding") { fields.add(name: "Accept-Encoding", value: "identity") }
        if !fields.contains(name: "User-Agent") { fields.add(name: "User-Agent", value: "functions-host") }
        // As curl does.
        if let user = url.user(percentEncoded: false), !fields.contains(name: "Authorization") {
            let login = HTTPClient.Authorization.basic(
                username: user, password: url.password(percentEncoded: false) ?? "")
            fields.add(name: "Authorization", value: login.headerValue)
        }
        return fields
    }
}

extension HTTPProxy {
    fileprivate var authorization: HTTPClient.Authorization? {
        user.map { .basic(username: $0, password: password ?? "") }
    }
}

extension URL {
    /// The host and port; an IPv6 address in brackets.
    fileprivate var authority: String {
        let host = self.host ?? ""
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// The same path and query at a proxy.
    fileprivate func sent(to proxy: HTTPProxy) -> URL? {
        var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        parts?.host = proxy.host.contains(":") ? "[\(proxy.host)]" : proxy.host
        parts?.port = proxy.port
        return parts?.url
    }
}
