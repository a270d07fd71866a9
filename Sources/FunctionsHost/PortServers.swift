import FirestoreAPI
import Gateway
import HostConfiguration
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import PortConnections
import ServiceAccounts
import ServiceLifecycle
import TokenVerification
import TransportSecurity
import WorkerProtocol
import Workers

/// Makes the servers of the ports beside that of functions.
struct PortServers {
    let configuration: HostConfiguration
    let parts: HostParts
    /// Nil for ports without TLS.
    let tls: TLSPorts?
    let readiness: Readiness
    let logger: Logger

    func rules(
        _ name: String, tokens: TokenVerifier? = nil, countsAnswers: Bool = true, hasSignIn: Bool = false
    ) -> PortRules {
        PortRules(
            hosts: configuration.localHosts, memory: parts.serving.memory, times: configuration.limits.portTimes,
            caller: PortCaller(
                proxies: configuration.trustedProxies, tokens: tokens,
                isDevelopment: configuration.mode == .development,
                isServer: { [servers = parts.serverTokens] in servers.verify($0) != nil }),
            countsAnswers: countsAnswers, hasSignIn: hasSignIn, refusals: parts.serving.refusals, name: name)
    }

    func server<Responder: HTTPResponder>(
        _ responder: Responder, port: Int, name: String, _ rules: PortRules,
        connections: ClientConnections? = nil, grpc: GRPCConnection? = nil
    ) -> any Service where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        // Incomplete requests and idle connections are the port handler's, as on the functions port.
        let http1 = HTTP1Channel.Configuration(
            additionalChannelHandlers: [PortHandler.Installer(rules)]
                + (connections.map { [$0.makeHandler()] } ?? []))
        let shares = ConnectionShares(
            configuration.limits.connections, of: parts.serving.connections, proxies: configuration.trustedProxies,
            refusals: parts.serving.refusals, port: name)
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { [tls] responder in
                let http1 = HTTP1Channel(responder: responder, configuration: http1)
                guard let grpc, let connections else { return TLSChannel(http1, tls, .http1, admit: shares.admit) }
                let both = FirestoreChannel(http1: http1, grpc: grpc, isSecure: tls != nil) {
                    (PortHandler(rules, isStream: true), connections.makeHandler())
                }
                return TLSChannel(both, tls, .http2AndHTTP1) { channel in
                    try shares.admit(channel)
                    channel.boundUnsentInSystem()
                }
            },
            configuration: .init(
                address: .hostname(configuration.listen.host, port: port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    configuration.limits.connections, logger: logger)),
            onServerRunning: { [readiness] channel in
                try? await channel.eventLoop.submit { try shares.watch(channel) }.get()
                readiness.isRunning(name, port: channel.localAddress?.port ?? port)
            },
            eventLoopGroupProvider: .shared(parts.serving.group), logger: logger)
        return PortService(application: application, port: port, name: name, configuration: configuration)
    }
}

extension HostConfiguration {
    var trustedProxies: TrustedProxies {
        TrustedProxies(listen.trustedProxies.compactMap { AddressPrefix($0) })
    }

    /// The hosts that requests may be for; nil in production.
    var localHosts: LocalHosts? {
        guard mode == .development else { return nil }
        return LocalHosts(listen.hosts.compactMap { HostPattern($0) }, setting: "listen.hosts in functions.json")
    }
}
