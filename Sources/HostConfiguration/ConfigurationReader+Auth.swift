import StrictJSON

extension ConfigurationReader {
    mutating func auth(_ node: JSONNode, mode: HostConfiguration.Mode) -> HostConfiguration.Auth {
        var auth = HostConfiguration.Auth()
        guard let object = object(node, key: "auth", known: ConfigurationKeys.auth) else { return auth }
        if let issuer = object["issuer"].flatMap({ choice($0, HostConfiguration.Auth.Issuer.self) }) {
            auth.issuer = issuer
        }
        let flags: [(String, WritableKeyPath<HostConfiguration.Auth, Bool>)] = [
            ("signedTokens", \.signedTokens), ("duplicateEmails", \.duplicateEmails),
            ("hideAccounts", \.hideAccounts),
        ]
        for (key, field) in flags { if let flag = object[key].flatMap({ boolean($0) }) { auth[keyPath: field] = flag } }
        if let days = object["keyRotationDays"].flatMap({ integer($0, 0...3650, "a number of days") }) {
            auth.keyRotationDays = days == 0 ? nil : days
        }
        if let node = object["projectNumber"], let number = string(node) {
            if !number.isEmpty, number.utf8.allSatisfy({ (48...57).contains($0) }) {
                auth.projectNumber = number
            } else {
                report("\(node.summary) is not a project's number; write its digits in quotes", at: node.offset)
            }
        }
        if let node = object["publicAddress"] { auth.publicAddress = webOrigin(node) }
        if let node = object["authorizedDomains"] { auth.authorizedDomains = domains(node) }
        if let node = object["providers"] { auth.providers = providers(node) }
        if let node = object["passwords"] { auth.passwords = passwords(node) }
        if let node = object["attempts"] { auth.attempts = attempts(node) }
        if let node = object["mail"] { auth.mail = mail(node, mode: mode) }
        if let node = object["sms"] { auth.sms = texts(node, mode: mode) }
        checkOwnIssuer(auth, node, object, mode: mode)
        return auth
    }

    /// An address of the web without a path.
    private mutating func webOrigin(_ node: JSONNode) -> String? {
        guard let text = string(node) else { return nil }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "https:" || parts[0] == "http:", parts[1].isEmpty, !parts[2].isEmpty,
            !parts[2].contains("?"), !parts[2].contains("@")
        else {
            report(
                "\(node.summary) is not a web address without a path, such as https://auth.example.com", at: node.offset
            )
            return nil
        }
        // As browsers write it: the address of a page is compared with it.
        let origin = text.lowercased()
        let defaultPort = parts[0] == "https:" ? ":443" : ":80"
        return origin.hasSuffix(defaultPort) ? String(origin.dropLast(defaultPort.count)) : origin
    }

    private mutating func domains(_ node: JSONNode) -> [String] {
        guard case .array(let elements) = node.kind else {
            report("\(node.summary) is not a list of domains; write [ \"shop.example.com\" ]", at: node.offset)
            return []
        }
        return elements.compactMap { element in
            guard let text = string(element) else { return nil }
            let isDomain = text.utf8.allSatisfy {
                (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            }
            guard isDomain, !text.isEmpty else {
                report("\(element.summary) is not a domain in lower case, such as shop.example.com", at: element.offset)
                return nil
            }
            return text
        }
    }

    private mutating func passwords(_ node: JSONNode) -> HostConfiguration.Passwords {
        var passwords = HostConfiguration.Passwords()
        guard let object = object(node, key: "auth.passwords", known: ConfigurationKeys.passwords) else {
            return passwords
        }
        if let length = object["minLength"].flatMap({ integer($0, 6...30, "a number of characters") }) {
            passwords.minLength = length
        }
        let flags: [(String, WritableKeyPath<HostConfiguration.Passwords, Bool>)] = [
            ("lowercase", \.lowercase), ("uppercase", \.uppercase), ("digit", \.digit), ("symbol", \.symbol),
        ]
        for (key, field) in flags {
            if let flag = object[key].flatMap({ boolean($0) }) { passwords[keyPath: field] = flag }
        }
        passwords.threads = object["threads"].flatMap { integer($0, 1...256, "a number of threads") }
        if let node = object["hashMiB"], let size = integer(node, 1...256, "a size in MiB") {
            if size & (size - 1) == 0 {
                passwords.hashMiB = size
            } else {
                report("\(size) is not a power of two; write 16, 32 or 64", at: node.offset)
            }
        }
        return passwords
    }

    private mutating func attempts(_ node: JSONNode) -> HostConfiguration.Attempts {
        var attempts = HostConfiguration.Attempts()
        guard let object = object(node, key: "auth.attempts", known: ConfigurationKeys.attempts) else {
            return attempts
        }
        let what = "a number of attempts"
        if let count = object["perAccount"].flatMap({ integer($0, 1...1000, what) }) { attempts.perAccount = count }
        if let count = object["perAddress"].flatMap({ integer($0, 1...100_000, what) }) {
            attempts.perAddress = count
        }
        return attempts
    }
}
