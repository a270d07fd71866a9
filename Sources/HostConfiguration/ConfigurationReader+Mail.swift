import Foundation
import FunctionManifest
import StrictJSON
import TextFormats

extension ConfigurationReader {
    /// Reads `auth.mail`.
    mutating func mail(_ node: JSONNode, mode: HostConfiguration.Mode) -> HostConfiguration.Mail? {
        guard let object = object(node, key: "auth.mail", known: ConfigurationKeys.mail) else { return nil }
        let sender = object["from"].flatMap { mailbox($0) }
        let replyTo = object["replyTo"].flatMap { mailbox($0) }
        let templates = object["templates"].flatMap { readableDirectory($0) }
        let links = object["links"].flatMap { endpoint($0, mode: mode) }
        var route: HostConfiguration.Mail.Route?
        switch (object["smtp"], object["webhook"]) {
        case (let smtp?, nil):
            route = self.smtp(smtp, mode: mode).map { .smtp($0) }
            if object["from"] == nil {
                report(
                    "\"from\" is missing; write the sender, such as Shop <noreply@shop.example.com>", at: node.offset)
            }
        case (nil, let webhook?):
            route = self.webhook(webhook, key: "auth.mail.webhook", mode: mode).map { .webhook($0) }
        case (nil, nil):
            report("write \"smtp\" with a mail server, or \"webhook\" with a URL that takes mails", at: node.offset)
        case (_?, _?):
            report("\"smtp\" and \"webhook\" exclude each other; keep one", at: node.memberOffset("webhook"))
        }
        guard let route else { return nil }
        var mail = HostConfiguration.Mail(route: route)
        mail.from = sender
        mail.replyTo = replyTo
        mail.templates = templates
        mail.links = links
        return mail
    }

    /// Reads `auth.sms`, of which a webhook is the only way.
    mutating func texts(_ node: JSONNode, mode: HostConfiguration.Mode) -> HostConfiguration.Webhook? {
        guard let object = object(node, key: "auth.sms", known: ConfigurationKeys.sms) else { return nil }
        guard let webhook = object["webhook"] else {
            report("\"webhook\" is missing; write { \"url\": …, \"secret\": … }", at: node.offset)
            return nil
        }
        return self.webhook(webhook, key: "auth.sms.webhook", mode: mode)
    }

    /// In production, only sign-in of this host sends messages, and links and pages may not lead to what a request names as its
    /// host.
    mutating func checkOwnIssuer(
        _ auth: HostConfiguration.Auth, _ node: JSONNode, _ object: [String: JSONNode], mode: HostConfiguration.Mode
    ) {
        guard mode == .production else { return }
        for key in ["mail", "sms"] where auth.issuer == .google {
            guard let node = object[key] else { continue }
            report(
                "Google's sign-in sends its own messages; write \"issuer\": \"own\" for that of this host, or remove the key",
                at: node.offset)
        }
        if auth.issuer == .own, object["publicAddress"] == nil {
            report(
                "\"publicAddress\" is missing; write where browsers reach the auth port, such as https://auth.example.com",
                at: node.offset)
        } else if auth.issuer == .own, let address = auth.publicAddress, address.hasPrefix("http:"),
            !["http://localhost", "http://127.0.0.1"].contains(where: { address == $0 || address.hasPrefix($0 + ":") })
        {
            report("in production \(address) must be https", at: node.memberOffset("publicAddress"))
        }
    }

    private mutating func smtp(_ node: JSONNode, mode: HostConfiguration.Mode) -> HostConfiguration.SMTP? {
        guard let object = object(node, key: "auth.mail.smtp", known: ConfigurationKeys.smtp) else { return nil }
        guard let hostNode = object["host"] else {
            report("\"host\" is missing; write the mail server's name", at: node.offset)
            return nil
        }
        guard let host = string(hostNode) else { return nil }
        guard Self.isHost(host) else {
            report("\(hostNode.summary) is not the name or address of a server", at: hostNode.offset)
            return nil
        }
        let tls = object["tls"].flatMap { choice($0, HostConfiguration.SMTP.Encryption.self) } ?? .starttls
        let usual =
            switch tls {
            case .implicit: 465
            case .starttls: 587
            case .none: 25
            }
        let port = object["port"].flatMap { integer($0, 1...65535, "a port") } ?? usual
        if tls == .none, mode == .production, !Self.isLoopback(host), let node = object["tls"] {
            report(
                "mails would cross the network in the clear; in production write \"starttls\" or \"implicit\" for a server "
                    + "that isn't on this machine", at: node.offset)
        }
        var smtp = HostConfiguration.SMTP(host: host, port: port, tls: tls)
        smtp.authorities = object["authorities"].flatMap { readableFile($0) }
        switch (object["user"], object["secret"]) {
        case (let userNode?, let secretNode?):
            if let user = string(userNode), let secret = secretName(secretNode) {
                smtp.login = HostConfiguration.SMTP.Login(user: user, secret: secret)
            }
        case (nil, nil): break
        case (let userNode?, nil):
            report("\"secret\" is missing beside it; write the name of the password in .secrets", at: userNode.offset)
        case (nil, let secretNode?): report("\"user\" is missing beside it", at: secretNode.offset)
        }
        return smtp
    }

    private mutating func webhook(
        _ node: JSONNode, key: String, mode: HostConfiguration.Mode
    ) -> HostConfiguration.Webhook? {
        guard let object = object(node, key: key, known: ConfigurationKeys.webhook) else { return nil }
        if object["url"] == nil { report("\"url\" is missing; write the URL that takes messages", at: node.offset) }
        if object["secret"] == nil {
            report(
                "\"secret\" is missing; write the name of a key in .secrets, with which requests are signed",
                at: node.offset)
        }
        guard let url = object["url"].flatMap({ endpoint($0, mode: mode) }),
            let secret = object["secret"].flatMap({ secretName($0) })
        else { return nil }
        return HostConfiguration.Webhook(url: url, secret: secret)
    }

    private mutating func mailbox(_ node: JSONNode) -> MailAddress? {
        guard let text = string(node) else { return nil }
        guard let address = MailAddress(mailbox: text) else {
            report(
                "\(node.summary) is not an address of mail, such as noreply@shop.example.com or Shop "
                    + "<noreply@shop.example.com>", at: node.offset)
            return nil
        }
        return address
    }

    /// A name in the file of secrets: the value itself has no place in this file.
    mutating func secretName(_ node: JSONNode) -> String? {
        guard let text = string(node) else { return nil }
        guard ParamManifest.isValidName(text) else {
            report(
                "this is not the name of a secret; write a name such as SHOP_SECRET here, and SHOP_SECRET=… in .secrets "
                    + "beside functions.json", at: node.offset)
            return nil
        }
        return text
    }

    /// An https URL; http is for this machine, and for development.
    private mutating func endpoint(_ node: JSONNode, mode: HostConfiguration.Mode) -> String? {
        guard let text = string(node) else { return nil }
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(), let host = url.host,
            !host.isEmpty, ["http", "https"].contains(scheme)
        else {
            report("\(node.summary) is not an https URL", at: node.offset)
            return nil
        }
        guard scheme == "https" || mode == .development || Self.isLoopback(host) else {
            report("\(node.summary) would be reached without encryption; write an https URL", at: node.offset)
            return nil
        }
        return text
    }

    private static func isLoopback(_ host: String) -> Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host.lowercased())
    }

    private static func isHost(_ host: String) -> Bool {
        ConfigurationFile.isAddress(host)
            || !host.isEmpty && host.utf8.count <= 253
                && host.utf8.allSatisfy { byte in
                    (48...57).contains(byte) || (97...122).contains(byte | 0x20) || byte == UInt8(ascii: "-")
                        || byte == UInt8(ascii: ".")
                }
    }
}
