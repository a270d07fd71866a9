import Deployments
import HostConfiguration
import IdentityProvider

extension SignInConfiguration {
    /// - Throws: `ConfigurationError` if a provider's secret has no value.
    init(_ configuration: HostConfiguration) throws(ConfigurationError) {
        self.init()
        let auth = configuration.auth
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
        guard auth.providers.contains(where: { $0.secret != nil }) else { return }
        let secrets = try HostSecrets(configuration)
        for (index, provider) in auth.providers.enumerated() {
            guard let name = provider.secret else { continue }
            providers[index].clientSecret = try secrets.value(of: name, at: "auth.providers.\(provider.id).secret")
            providers[index].usesCode = true
        }
    }
}

extension ProviderConfig {
    fileprivate init(_ provider: HostConfiguration.Provider) {
        if let issuer = provider.issuer ?? Self.knownIssuers[provider.id] {
            self.init(id: provider.id, check: .openID(issuer: issuer, clientIDs: provider.clientIDs))
        } else {
            // Facebook is the only provider that is configured without an address.
            let isFacebook = provider.profile == nil
            var addresses = ProfileAddresses(profile: provider.profile ?? Self.facebook.profile)
            addresses.app = provider.app ?? (isFacebook ? Self.facebook.app : nil)
            addresses.appID = provider.appID
            addresses.authorization = provider.authorize ?? (isFacebook ? Self.facebook.authorize : nil)
            addresses.token = provider.token ?? (isFacebook ? Self.facebook.token : nil)
            self.init(id: provider.id, check: .profile(addresses))
        }
    }
}
