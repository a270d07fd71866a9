import Deployments
import DocumentModel
import FirestoreAPI
import Gateway
import HostConfiguration
import ServiceAccounts
import ServiceLifecycle
import TokenVerification
import WorkerProtocol
import Workers

/// The firestore port: documents over REST, gRPC and WebChannel.
struct FirestorePort {
    let configuration: HostConfiguration
    let parts: HostParts
    let webChannel: WebChannelService
    let figures: ClientFigures
    /// What clients' apps must prove; nil for nothing.
    let apps: AppCheckGate?

    /// The port's server, and what keeps its streams up to date.
    func services(_ servers: PortServers) -> [any Service] {
        let verifier = parts.serving.verifiers.idToken
        let identities = ClientIdentities()
        let tokens = parts.serverTokens
        @Sendable func requester(_ server: ServerTokens.Verified) -> Requester {
            Requester(serverUntil: Timestamp(seconds: server.expires, nanoseconds: 0)) {
                tokens.isRevoked(server.keyID)
            }
        }
        let known: PrincipalReader.Known = { token in
            if let server = tokens.known(token) { return requester(server) }
            guard case .valid(let token) = verifier.verify(token) else { return nil }
            return Requester(.client(identities.identity(of: token)))
        }
        let principals = PrincipalReader(
            isDevelopment: configuration.mode == .development, apps: apps.map { PrincipalReader.Apps($0) }, known: known
        ) { token in
            if let server = tokens.known(token) { return requester(server) }
            switch await verifier.verifyAfterFetch(token) {
            case .valid(let token): return Requester(.client(identities.identity(of: token)))
            case .invalid(let rejection):
                guard let server = tokens.verify(token) else { throw rejection }
                return requester(server)
            case .needsKeys, .unavailable:
                throw DocumentError(.unavailable, "the keys to verify tokens are unavailable at the moment")
            }
        }
        let connections = ClientConnections(figures)
        let proxies = configuration.trustedProxies
        let address: DocumentREST.AddressReader = { peer, forwardedFor in
            IPAddress(peer).map { proxies.client($0, forwardedFor: forwardedFor).holderNumber }
        }
        let isForeign: @Sendable (_ origin: String) -> Bool = { [hosts = configuration.localHosts] origin in
            hosts?.isForeign(origin: origin) ?? false
        }
        let responder = DocumentREST(
            database: parts.database,
            service: parts.documents, rules: parts.rules.clients, isDevelopment: configuration.mode == .development,
            principals: principals, webChannel: webChannel, connections: connections,
            address: address, answers: parts.serving.memory.answers,
            maxBodyBytes: min(configuration.limits.requestBody, DocumentREST.maxRequestBytes), isForeign: isForeign)
        var limits = GRPCLimits()
        limits.messageBytes += configuration.limits.requestBody - DocumentREST.maxRequestBytes
        limits.transferSeconds = configuration.limits.transferSeconds
        limits.clients = configuration.clients
        let calls = FirestoreCalls(
            parts.store, database: parts.database, service: parts.documents, rules: parts.rules.clients,
            principals: principals, address: address, answers: parts.serving.memory.answers,
            bodies: parts.serving.memory.bodies, limits: limits, figures: figures,
            isForeign: isForeign)
        parts.serviceAccounts.onRevocation { [webChannel] in
            calls.checkTokens()
            webChannel.checkTokens()
        }
        let server = servers.server(
            TokenPort(TokenEndpoint(tokens), before: responder), port: configuration.listen.firestore,
            name: "firestore",
            servers.rules("firestore", tokens: verifier, countsAnswers: false), connections: connections,
            grpc: GRPCConnection(calls))
        let refresh = Duration.seconds(min(600, configuration.store.historySeconds / 4))
        return [server, StreamSweep(webChannel: webChannel, calls: calls, refresh: refresh)]
    }
}

extension PrincipalReader.Apps {
    /// Clients fetch another token after UNAUTHENTICATED alone.
    fileprivate init(_ gate: AppCheckGate) {
        self.init(admitsAtOnce: { gate.admitsAtOnce($0) }) { token async throws(DocumentError) in
            switch await gate.refusal(of: token) {
            case nil, .valid?: return
            case .missing?: throw DocumentError(.permissionDenied, "Missing or insufficient permissions.")
            case .invalid?: throw DocumentError(.unauthenticated, "the App Check token is not valid")
            case .unavailable?:
                throw DocumentError(
                    .unavailable, "the keys to verify App Check tokens are unavailable at the moment")
            }
        }
    }
}
