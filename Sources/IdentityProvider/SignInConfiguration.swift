/// What `auth` in functions.json says of sign-in.
package struct SignInConfiguration: Hashable, Sendable {
    package var passwordPolicy = PasswordPolicy()
    /// Failed attempts to sign in to one account before pauses begin.
    package var attemptsPerAccount = 10
    /// The same from one address. Not in development, where all clients have one.
    package var attemptsPerAddress = 100
    /// Whether several users may have one email address, each by another provider. Admins can change it.
    package var allowsDuplicateEmails = false
    /// Whether answers hide if an email address has an account. Admins can change it.
    package var hidesAccounts = false
    /// The number by which answers name the project; nil for its id.
    package var projectNumber: String?
    package var providers: [ProviderConfig] = []
    /// Where browsers reach this port, such as `https://auth.example.com`; nil for the address of each request.
    package var publicAddress: String?
    /// The team's own page that links in mails lead to; nil for the built-in one at ``publicAddress``.
    package var actionPage: String?
    /// The sites that sign-in may lead to, beside this machine's.
    package var authorizedDomains: [String] = []

    package init() {}
}
