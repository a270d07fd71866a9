import WorkerProtocol
package import NIOCore
package import NIOHTTP1
import Sharing
package import TokenVerification
import Workers

/// Tells whose share of the host's memory a request uses.
package struct PortCaller: Sendable {
    private let proxies: TrustedProxies
    /// Nil if the port has no tokens.
    private let tokens: TokenVerifier?
    private let isDevelopment: Bool
    /// Whether a token is that of a server, which has the host's share.
    private let isServer: @Sendable (Substring) -> Bool

    package init(
        proxies: TrustedProxies = TrustedProxies(), tokens: TokenVerifier? = nil, isDevelopment: Bool = false,
        isServer: @escaping @Sendable (Substring) -> Bool = { _ in false }
    ) {
        self.proxies = proxies
        self.tokens = tokens
        self.isDevelopment = isDevelopment
        self.isServer = isServer
    }

    /// A number that stands for the address of a request's client; 0 if there is none.
    package func address(_ peer: SocketAddress?, _ headers: HTTPHeaders) -> UInt64 {
        address(IPAddress(peer), headers)
    }

    func address(_ peer: IPAddress?, _ headers: HTTPHeaders) -> UInt64 {
        client(peer, headers)?.holderNumber ?? 0
    }

    /// Whether the other end of a connection forwards the requests of others.
    func isProxy(_ peer: SocketAddress?) -> Bool { IPAddress(peer).map { proxies.isProxy($0) } ?? false }

    /// The client of a request, behind the proxies that are trusted.
    func client(_ peer: IPAddress?, _ headers: HTTPHeaders) -> IPAddress? { peer.map { proxies.client($0, headers) } }

    /// The user whose token a request has; nil if it has none, or none that is valid by keys that are known already.
    func user(_ headers: HTTPHeaders) -> MemoryBudget.Holder? {
        guard let token = headers.first(name: "Authorization").flatMap(TokenCheck.bearerToken) else { return nil }
        if isDevelopment, token == "owner" { return .host }
        if case .valid(let verified)? = tokens?.verify(token) { return .user(id: verified.subject) }
        return isServer(Substring(token)) ? .host : nil
    }
}
