import DocumentModel
import HostConfiguration
import IdentityProvider
import Logging
import ServiceAccounts
import Synchronization
import TokenVerification
import UserStore

extension IdentityToolkit {
    /// The host's sign-in, as its configuration says.
    init(
        _ configuration: HostConfiguration, _ signInConfiguration: SignInConfiguration, users: UserStore,
        signIn: LocalSignIn, accounts: ServiceAccountStore,
        blocking: any BlockingFunctions = NoBlockingFunctions(), delivery: MessageDelivery = MessageDelivery(),
        logger: Logger
    ) {
        let isDevelopment = configuration.mode == .development
        let own = Self.customTokenIssuer(of: configuration.project)
        self.init(
            users: users, policy: configuration.mode.tokenPolicy,
            keys: signIn.keys, passwords: signIn.passwords,
            customTokens: isDevelopment
                ? .unverified
                : CustomTokens { [keys = signIn.keys] issuer, id in
                    // Functions' tokens are signed with the host's own key.
                    if issuer == own, let id, let key = keys?.verification[id] { return [key] }
                    return accounts.publicKeys(of: issuer, id: id)
                },
            configuration: signInConfiguration, blocking: blocking, delivery: delivery,
            logger: logger)
    }
}

/// Where clients reach sign-in, for the links that functions ask for: known once the port is open.
final class SignInAddress: Sendable {
    private let scheme: String
    private let host: String
    private let port: Mutex<Int>

    init(_ listen: HostConfiguration.Listen) {
        scheme = listen.tls == nil ? "http" : "https"
        // Who listens on all addresses can be reached at this machine's.
        let isWildcard = listen.host == "0.0.0.0" || listen.host == "::"
        host = isWildcard ? "127.0.0.1" : listen.host.contains(":") ? "[\(listen.host)]" : listen.host
        port = Mutex(listen.auth)
    }

    var text: String { "\(scheme)://\(host):\(port.withLock { $0 })" }

    func isOpen(at port: Int) { self.port.withLock { $0 = port } }
}
