package import TextFormats

extension HostConfiguration {
    /// How the mails of sign-in reach users.
    package struct Mail: Hashable, Sendable {
        package var route: Route
        /// The sender. SMTP always has one.
        package var from: MailAddress?
        package var replyTo: MailAddress?
        /// The directory of the team's templates; nil for the built-in ones.
        package var templates: String?
        /// The team's page that links in mails lead to; nil for the built-in one.
        package var links: String?

        package init(route: Route) { self.route = route }

        package enum Route: Hashable, Sendable {
            case smtp(SMTP)
            case webhook(Webhook)
        }
    }

    package struct SMTP: Hashable, Sendable {
        package var host: String
        package var port: Int
        package var tls: Encryption
        package var login: Login?
        /// A file of trusted certificates in PEM; nil for the system's.
        package var authorities: String?

        package init(host: String, port: Int, tls: Encryption) {
            self.host = host
            self.port = port
            self.tls = tls
        }

        package enum Encryption: String, Hashable, Sendable, CaseIterable {
            case starttls, implicit, none
        }

        package struct Login: Hashable, Sendable {
            package var user: String
            /// The name of the password in the file of secrets.
            package var secret: String
        }
    }

    /// A URL that takes messages, signed.
    package struct Webhook: Hashable, Sendable {
        package var url: String
        /// The name of the key in the file of secrets.
        package var secret: String
    }
}
