import StrictJSON
import UserStore

/// The settings that admins change while the host runs, over those of functions.json.
struct ProjectSettings: Sendable {
    /// Whether several users may have one email address, each by another provider.
    var allowsDuplicateEmails: Bool
    /// Whether answers hide if an email address has an account.
    var hidesAccounts: Bool

    private static let name = "config"

    init(_ reader: some UserReader, defaults: SignInConfiguration) throws {
        allowsDuplicateEmails = defaults.allowsDuplicateEmails
        hidesAccounts = defaults.hidesAccounts
        guard let stored = try reader.setting(Self.name), let json = try? JSONValue(parsing: stored) else { return }
        if let value = json["signIn"]?["allowDuplicateEmails"]?.boolValue { allowsDuplicateEmails = value }
        if let value = json["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"]?.boolValue { hidesAccounts = value }
    }

    func store(in transaction: UserTransaction) throws {
        transaction.set(Self.name, to: try JSONValue.object(json).serialized())
    }

    /// The form in which clients send and receive them.
    var json: JSONObject {
        [
            "signIn": ["allowDuplicateEmails": .bool(allowsDuplicateEmails)],
            "emailPrivacyConfig": ["enableImprovedEmailPrivacy": .bool(hidesAccounts)],
        ]
    }

    /// Takes the settings that a request has and, if there is a mask, names in it.
    mutating func update(from request: SignInRequest, mask: [String]? = nil) {
        func isMeant(_ group: String, _ name: String) -> Bool {
            mask.map { $0.contains(group) || $0.contains("\(group).\(name)") } ?? true
        }
        if isMeant("signIn", "allowDuplicateEmails"),
            let value = request.message("signIn")?.flag("allowDuplicateEmails")
        {
            allowsDuplicateEmails = value
        }
        if isMeant("emailPrivacyConfig", "enableImprovedEmailPrivacy"),
            let value = request.message("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        {
            hidesAccounts = value
        }
    }
}
