import AppCheck
import Gateway
import HTTPTypes
import HostConfiguration
import Hummingbird
import IdentityProvider
import Logging
import NIOCore
import ServiceAccounts
import ServiceLifecycle
import TokenVerification
import WorkerProtocol
import Workers

/// The auth port: sign-in, the tokens of servers, and those of App Check.
struct AuthPort {
    let configuration: HostConfiguration
    let parts: HostParts
    /// What clients' apps must prove; nil for nothing.
    let apps: AppCheckGate?

    func server(_ toolkit: IdentityToolkit, _ servers: PortServers) -> any Service {
        let proxies = configuration.trustedProxies
        let signIn = SignInPort(
            toolkit, apps: apps, isAdmin: { [tokens = parts.serverTokens] in tokens.verify($0) != nil },
            address: { peer, headers in
                guard let peer = IPAddress(peer) else { return "" }
                let forwarded = HTTPField.Name("X-Forwarded-For").map { headers[values: $0] } ?? []
                return proxies.client(peer, forwardedFor: forwarded).description
            })
        guard let appCheck else { return server(before: signIn, servers) }
        return server(before: AppCheckPort(appCheck, before: signIn), servers)
    }

    /// The port's server with the endpoint of servers' tokens before a responder.
    private func server<Responder: HTTPResponder>(
        before responder: Responder, _ servers: PortServers
    ) -> any Service where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        servers.server(
            TokenPort(TokenEndpoint(parts.serverTokens), before: responder), port: configuration.listen.auth,
            name: "auth", servers.rules("auth", hasSignIn: true))
    }

    /// Verifies servers' custom tokens for apps: in development whatever their signature.
    private var customTokens: CustomTokens {
        guard configuration.mode == .production else { return .unverified }
        return CustomTokens { [accounts = parts.serviceAccounts] in accounts.publicKeys(of: $0, id: $1) }
    }

    private var appCheck: AppCheckExchange? {
        guard let issuer = parts.appCheck else { return nil }
        let isDevelopment = configuration.mode == .development
        return AppCheckExchange(
            issuer, customTokens: customTokens, verifier: parts.serving.verifiers.appCheck,
            consumption: parts.consumedTokens,
            isServer: { [tokens = parts.serverTokens] token in
                isDevelopment && token == "owner" || tokens.verify(token) != nil
            },
            refused: { [refusals = parts.serving.refusals] app, reason in
                refusals.log(
                    "an app got no App Check token", kind: nil, of: nil, level: .notice, now: .now(),
                    ["app": "\(app)", "reason": "\(reason)"])
            })
    }
}
