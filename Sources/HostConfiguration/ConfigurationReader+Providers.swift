import StrictJSON

extension ConfigurationReader {
    /// Providers whose issuers, or addresses, needn't be written.
    private static let openID = ["google.com", "apple.com"]
    private static let facebook = "facebook.com"

    mutating func providers(_ node: JSONNode) -> [HostConfiguration.Provider] {
        guard case .object(let members) = node.kind else {
            report("\(node.summary) is not an object of providers; write { \"google.com\": … }", at: node.offset)
            return []
        }
        return members.compactMap { member in
            note("auth.providers.\(member.key)", member.offset)
            // A sign-in finds its provider in lower case, however the client writes it.
            let found = member.key.lowercased()
            if member.key != found {
                report("the id of a provider is in lower case; write \"\(found)\"", at: member.offset)
            }
            return provider(member.key, member.value)
        }
    }

    private mutating func provider(_ id: String, _ node: JSONNode) -> HostConfiguration.Provider? {
        guard let object = object(node, key: "auth.providers.\(id)", known: ConfigurationKeys.provider) else {
            return nil
        }
        var provider = HostConfiguration.Provider(id: id)
        let addresses: [(String, WritableKeyPath<HostConfiguration.Provider, String?>)] = [
            ("issuer", \.issuer), ("profile", \.profile), ("app", \.app), ("authorize", \.authorize),
            ("token", \.token),
        ]
        for (key, field) in addresses {
            if let node = object[key] { provider[keyPath: field] = secureAddress(node) }
        }
        if let node = object["appID"] { provider.appID = string(node) }
        if let node = object["secret"] { provider.secret = secretName(node) }
        if let node = object["clientIDs"] {
            provider.clientIDs = (list(node, "client ids") ?? []).compactMap { string($0) }
        }
        check(provider, node, object)
        return provider
    }

    /// Each provider proves who a user is in one way: by ID tokens, or by access tokens.
    private mutating func check(
        _ provider: HostConfiguration.Provider, _ node: JSONNode, _ object: [String: JSONNode]
    ) {
        let id = provider.id
        if Self.openID.contains(id) || id.hasPrefix("oidc.") {
            if object["clientIDs"] == nil || provider.clientIDs.isEmpty {
                report("\"clientIDs\" is missing; write the ids of your apps at \(id)", at: node.offset)
            }
            if id.hasPrefix("oidc."), object["issuer"] == nil {
                report(
                    "\"issuer\" is missing; write the provider's issuer, such as https://id.example.com",
                    at: node.offset)
            }
            if id == "apple.com", object["secret"] != nil {
                report(
                    "\"secret\" is of no use: Apple's page answers with ID tokens", at: node.memberOffset("secret"))
            }
            for key in ["profile", "app", "appID", "authorize", "token"] where object[key] != nil {
                report(
                    "\"\(key)\" is for providers with access tokens; \(id) has ID tokens", at: node.memberOffset(key))
            }
        } else {
            if id == Self.facebook, object["appID"] == nil {
                report("\"appID\" is missing; write the id of your app at Facebook", at: node.offset)
            }
            if id != Self.facebook, object["profile"] == nil {
                report(
                    "\"profile\" is missing; write the address at which \(id) describes the owner of an access token, or "
                        + "name the provider oidc.… if it has ID tokens", at: node.offset)
            }
            if object["authorize"] != nil, object["appID"] == nil {
                report(
                    "\"authorize\" needs \"appID\": browsers name the app to the provider",
                    at: node.memberOffset("authorize"))
            }
            if object["token"] != nil, object["secret"] == nil {
                report(
                    "\"secret\" is missing beside it; write the name of the app's secret in .secrets",
                    at: node.memberOffset("token"))
            }
            if object["secret"] != nil, id != Self.facebook, object["token"] == nil {
                report(
                    "\"secret\" needs \"token\": codes are exchanged there", at: node.memberOffset("secret"))
            }
            if object["token"] != nil, object["appID"] == nil {
                report("\"token\" needs \"appID\": codes are exchanged in its name", at: node.memberOffset("token"))
            }
            // A token for a code is the app's own.
            if (object["app"] == nil) != (object["appID"] == nil), id != Self.facebook, object["token"] == nil {
                report("\"app\" and \"appID\" are written together: the app of a token is compared", at: node.offset)
            }
            for key in ["issuer", "clientIDs"] where object[key] != nil {
                report("\"\(key)\" is for providers with ID tokens, which are named oidc.…", at: node.memberOffset(key))
            }
        }
    }

    /// An https address; http is for providers of this machine.
    private mutating func secureAddress(_ node: JSONNode) -> String? {
        guard let text = string(node) else { return nil }
        let local = ["http://localhost", "http://127.0.0.1"]
        let isLocal = local.contains { text == $0 || text.hasPrefix($0 + ":") || text.hasPrefix($0 + "/") }
        guard text.hasPrefix("https://") && text.utf8.count > 8 || isLocal else {
            report("\(node.summary) is not an https address", at: node.offset)
            return nil
        }
        return text
    }
}
