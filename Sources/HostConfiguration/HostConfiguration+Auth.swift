extension HostConfiguration {
    /// Whether this host has an auth port with users of its own.
    package var hasUsers: Bool { mode == .development || auth.issuer == .own }

    /// Whether the users' tokens are signed with keys of this host.
    package var signsTokens: Bool { mode == .development ? auth.signedTokens : auth.issuer == .own }

    /// Sign-in on the auth port.
    package struct Auth: Hashable, Sendable {
        /// Whose ID tokens count in production; in development always this host's, and Google's where they can exist.
        package var issuer = Issuer.google
        /// Whether development signs its tokens, which Node's firebase-admin then refuses.
        package var signedTokens = false
        /// How long one key signs tokens, in days; nil to rotate by command alone.
        package var keyRotationDays: Int? = 30
        /// The project's number, which some answers name; nil for the project id in its place.
        package var projectNumber: String?
        /// Where browsers reach the auth port in production, for links in mails: `https://` and a host.
        package var publicAddress: String?
        /// The sites that sign-in may lead to.
        package var authorizedDomains: [String] = []
        /// Whether several users may have one email address, each by another provider.
        package var duplicateEmails = false
        /// Whether answers hide if an email address has an account.
        package var hideAccounts = false
        /// In the file's order.
        package var providers: [Provider] = []
        package var passwords = Passwords()
        package var attempts = Attempts()
        /// Nil if no mail is sent.
        package var mail: Mail?
        /// Where text messages are posted; nil if none is sent.
        package var sms: Webhook?

        package init() {}

        package enum Issuer: String, Hashable, Sendable, CaseIterable {
            case google, own
        }
    }

    /// An identity provider, by its ID tokens or by access tokens.
    package struct Provider: Hashable, Sendable {
        /// Such as `google.com`.
        package var id: String
        /// The issuer of ID tokens; nil for that of a known provider, or for access tokens.
        package var issuer: String?
        /// The clients that ID tokens may be for. The first is that of browsers.
        package var clientIDs: [String] = []
        /// Where the owner of an access token is described; nil for ID tokens, and for Facebook's own address.
        package var profile: String?
        /// Where the app of an access token is described.
        package var app: String?
        package var appID: String?
        /// Where users sign in with a browser and get an access token; nil for none, or for Facebook's own address.
        package var authorize: String?
        /// Where codes are exchanged for access tokens; nil for none, for Facebook's own address, or for ID tokens.
        package var token: String?
        /// The name of the client's secret in the file of secrets, with which codes are exchanged; nil if browsers get the
        /// tokens.
        package var secret: String?

        package init(id: String) { self.id = id }
    }

    /// What passwords must have, and what a hash costs.
    package struct Passwords: Hashable, Sendable {
        package var minLength = 6
        package var lowercase = false
        package var uppercase = false
        package var digit = false
        package var symbol = false
        /// The memory of one hash in MiB: a power of two. Its time grows with it.
        package var hashMiB = 32
        /// How many hashes are computed at the same time; nil for half the processors.
        package var threads: Int?

        package init() {}
    }

    /// Failed attempts to sign in before each is followed by a pause.
    package struct Attempts: Hashable, Sendable {
        package var perAccount = 10
        package var perAddress = 100

        package init() {}
    }
}
