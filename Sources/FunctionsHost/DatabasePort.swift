import Gateway
import HostConfiguration
import HostProcess
import DocumentModel
import Logging
import NIOCore
import NIOHTTP1
import RealtimeAPI
import ServiceAccounts
import Sharing
import StrictJSON
import TokenVerification
import WorkerProtocol
import Workers

/// The database port: the Realtime Database over WebSocket, long polling and REST.
struct DatabasePort {
    let configuration: HostConfiguration
    let parts: HostParts
    /// What clients' apps must prove; nil for nothing.
    let apps: AppCheckGate?
    let logger: Logger

    /// Binds the port.
    ///
    /// - Throws: an error whose description is a sentence for the operator.
    func start(secure: @escaping @Sendable (any Channel) throws -> Void) async throws -> RealtimePort {
        let listen = configuration.listen
        let shares = ConnectionShares(
            configuration.limits.connections, of: parts.serving.connections, proxies: configuration.trustedProxies,
            refusals: parts.serving.refusals, port: "database")
        do {
            let port = try await RealtimePort.start(
                realtimeParts, group: parts.serving.group, host: listen.host, port: listen.database,
                grace: .seconds(Int64(configuration.limits.shutdownGrace)), watch: shares.watch
            ) { channel in
                try shares.admit(channel)
                try secure(channel)
            }
            parts.serviceAccounts.onRevocation { port.checkTokens() }
            return port
        } catch {
            throw HostError.listening(on: listen.database, name: "database", configuration, error)
        }
    }

    private var realtimeParts: RealtimeParts {
        var limits = RealtimeConnectionLimits()
        let settings = configuration.database
        limits.listens = settings.listens
        limits.messageBytes = settings.message
        limits.waitingRequests = settings.waitingRequests
        limits.unreadPushBytes = settings.unreadPushes
        var port = RealtimePortLimits()
        port.pollingSessions = configuration.limits.connections
        port.transfer = .seconds(Int64(configuration.limits.transferSeconds))
        let hosts = configuration.localHosts
        let proxies = configuration.trustedProxies
        return RealtimeParts(
            service: parts.databases, credentials: credentials,
            databaseNames: DatabaseNames(
                fallback: configuration.defaultNamespace, known: configuration.databaseNames),
            limits: limits, port: port, bodies: parts.serving.memory.bodies, answers: parts.serving.memory.answers,
            listenMemory: MemoryBudget(total: settings.listenMemory), spool: parts.spool,
            refusal: { head in
                if let ambiguity = head.ambiguity { return .init(status: .badRequest, message: ambiguity) }
                return hosts?.refusal(of: head).map { .init(status: $0.status, message: $0.message) }
            },
            isForeign: { head in
                guard let hosts else { return false }
                return head.headers["Origin"].contains { hosts.isForeign(origin: $0) }
            },
            address: { peer, headers in
                guard let address = IPAddress(peer) else { return 0 }
                return proxies.client(address, forwardedFor: headers["X-Forwarded-For"]).holderNumber
            },
            now: { Timestamp.wallClock().microseconds / 1000 }, logger: logger)
    }

    private var credentials: RealtimeCredentials {
        let verifier = parts.serving.verifiers.idToken
        let tokens = parts.serverTokens
        let identities = ClientIdentities<RealtimeAuth>.realtime()
        @Sendable func bearer(
            of outcome: TokenVerifier.Outcome, _ token: String
        ) -> Result<RealtimeCredentials.Bearer, RealtimeServiceError> {
            switch outcome {
            case .valid(let verified):
                let until = verified.expires == .max ? nil : verified.expires
                return .success(.init(.client(identities.identity(of: verified)), until: until))
            case .invalid(let rejection):
                if let server = tokens.verify(token) {
                    return .success(.init(.admin, until: server.expires, serverKey: server.keyID))
                }
                return .failure(rejection == .expired ? .expiredToken : .invalidToken)
            case .needsKeys, .unavailable:
                return .failure(.unavailable("The keys to verify tokens are unavailable at the moment."))
            }
        }
        var credentials = RealtimeCredentials(isDevelopment: configuration.mode == .development) { token, completion in
            if let server = tokens.known(token) {
                return completion(.success(.init(.admin, until: server.expires, serverKey: server.keyID)))
            }
            let outcome = verifier.verify(token)
            guard outcome == .needsKeys else { return completion(bearer(of: outcome, token)) }
            verifier.whenKeysArrive { completion(bearer(of: verifier.verify(token), token)) }
        }
        credentials.isRevoked = { tokens.isRevoked($0) }
        if let gate = apps {
            credentials.verifyApp = { token, completion in
                if let admission = gate.admissionAtOnce(of: token) { return completion(.init(admission)) }
                Task { completion(.init(await gate.admission(of: token))) }
            }
        }
        return credentials
    }
}

extension RealtimeCredentials.AppAdmission {
    fileprivate init(_ admission: AppCheckGate.Admission) {
        self =
            switch admission {
            case .served(let end): .admitted(until: end)
            case .refused(.unavailable): .unavailable
            case .refused: .refused
            }
    }
}

extension ClientIdentities where Identity == RealtimeAuth {
    /// The rules' variable `auth`.
    fileprivate static func realtime() -> ClientIdentities {
        ClientIdentities { token in
            let claims = (try? JSONValue(parsing: Array(token.claims.readableBytesView))) ?? .object([:])
            return RealtimeAuth(uid: token.subject, claims: claims)
        }
    }
}
