import HostConfiguration
import IdentityProvider
import WorkerProtocol

extension SignInConfiguration {
    init(_ auth: HostConfiguration.Auth) {
        self.init()
        passwordPolicy.minLength = auth.passwords.minLength
        passwordPolicy.needsLowercase = auth.passwords.lowercase
        passwordPolicy.needsUppercase = auth.passwords.uppercase
        passwordPolicy.needsDigit = auth.passwords.digit
        passwordPolicy.needsSymbol = auth.passwords.symbol
        attemptsPerAccount = auth.attempts.perAccount
        attemptsPerAddress = auth.attempts.perAddress
        allowsDuplicateEmails = auth.duplicateEmails
        hidesAccounts = auth.hideAccounts
        projectNumber = auth.projectNumber
        publicAddress = auth.publicAddress
        actionPage = auth.mail?.links
        authorizedDomains = auth.authorizedDomains
        providers = auth.providers.map { ProviderConfig($0) }
    }
}

extension ProviderConfig {
    fileprivate init(_ provider: HostConfiguration.Provider) {
        if let issuer = provider.issuer ?? Self.knownIssuers[provider.id] {
            self.init(id: provider.id, check: .openID(issuer: issuer, clientIDs: provider.clientIDs))
        } else {
            // Facebook is the only provider that is configured without an address.
            self.init(
                id: provider.id,
                check: .profile(
                    address: provider.profile ?? Self.facebook.profile,
                    appAddress: provider.app ?? (provider.profile == nil ? Self.facebook.app : nil),
                    appID: provider.appID,
                    authorizationAddress: provider.authorize
                        ?? (provider.profile == nil ? Self.facebook.authorize : nil)))
        }
    }
}

extension IPAddress {
    /// The network that one client has: with IPv6, all addresses with the same first half.
    var network: IPAddress { high == 0 ? self : IPAddress(high: high, low: 0) }
}
