import Deployments
import HostConfiguration
import IdentityProvider
import MailTransfer

extension MessageDelivery {
    /// How functions.json has messages sent.
    ///
    /// - Throws: an error whose description is a sentence for the operator: a secret has no value, or a template has a
    ///   mistake.
    init(_ configuration: HostConfiguration) throws {
        self.init()
        let auth = configuration.auth
        guard auth.mail != nil || auth.sms != nil else { return }
        let secrets = try HostSecrets(configuration)
        func webhook(
            _ webhook: HostConfiguration.Webhook, at key: String, _ composer: MailComposer
        ) throws(ConfigurationError) -> MessageWebhook {
            let text = try secrets.value(of: webhook.secret, at: "\(key).secret")
            guard let signingKey = MessageWebhook.Key(text) else {
                throw configuration.problem(
                    at: "\(key).secret",
                    "the secret \(webhook.secret) is not a key of at least 16 bytes in base64; make one with: openssl rand "
                        + "-base64 32")
            }
            return MessageWebhook(
                address: webhook.url, key: signingKey, project: configuration.project, composer: composer)
        }
        if let mail = auth.mail {
            let composer = MailComposer(
                from: mail.from, replyTo: mail.replyTo,
                templates: try mail.templates.map { path throws(MailTemplateError) in
                    try MailTemplates(directory: path)
                } ?? MailTemplates(),
                project: configuration.project)
            switch (mail.route, mail.from) {
            case (.webhook(let settings), _):
                self.mail = try webhook(settings, at: "auth.mail.webhook", composer)
            case (.smtp(let settings), let from?):
                let server = try SMTPServer(settings) { name throws(ConfigurationError) in
                    try secrets.value(of: name, at: "auth.mail.smtp.secret")
                }
                self.mail = MailBySMTP(server, from: from, composer: composer)
            // functions.json isn't read without a sender.
            case (.smtp, nil): break
            }
        }
        if let sms = auth.sms {
            texts = try webhook(
                sms, at: "auth.sms.webhook",
                MailComposer(from: auth.mail?.from, project: configuration.project))
        }
    }
}

extension SMTPServer {
    fileprivate init(
        _ settings: HostConfiguration.SMTP, secret: (String) throws(ConfigurationError) -> String
    ) throws(ConfigurationError) {
        let encryption: Encryption =
            switch settings.tls {
            case .starttls: .startTLS
            case .implicit: .implicit
            case .none: .none
            }
        self.init(
            host: settings.host, port: settings.port, encryption: encryption, authorities: settings.authorities)
        if let given = settings.login { login = Login(user: given.user, password: try secret(given.secret)) }
    }
}
