import StrictJSON
import UserStore

/// The settings that admins change while the host runs, over those of functions.json.
struct ProjectSettings: Sendable {
    private let defaults: SignInConfiguration
    /// What admins have changed; nil for what functions.json says, also if it says something else later.
    private var duplicateEmails: Bool?
    private var hiding: Bool?

    /// Whether several users may have one email address, each by another provider.
    var allowsDuplicateEmails: Bool { duplicateEmails ?? defaults.allowsDuplicateEmails }
    /// Whether answers hide if an email address has an account.
    var hidesAccounts: Bool { hiding ?? defaults.hidesAccounts }

    private static let name = "config"

    init(_ reader: some UserReader, defaults: SignInConfiguration) throws {
        self.defaults = defaults
        guard let stored = try reader.setting(Self.name), let json = try? JSONValue(parsing: stored) else { return }
        duplicateEmails = json["signIn"]?["allowDuplicateEmails"]?.boolValue
        hiding = json["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"]?.boolValue
    }

    func store(in transaction: UserTransaction) throws {
        var changed = JSONObject()
        if let duplicateEmails { changed["signIn"] = ["allowDuplicateEmails": .bool(duplicateEmails)] }
        if let hiding { changed["emailPrivacyConfig"] = ["enableImprovedEmailPrivacy": .bool(hiding)] }
        transaction.set(Self.name, to: try JSONValue.object(changed).serialized())
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
            duplicateEmails = value
        }
        if isMeant("emailPrivacyConfig", "enableImprovedEmailPrivacy"),
            let value = request.message("emailPrivacyConfig")?.flag("enableImprovedEmailPrivacy")
        {
            hiding = value
        }
    }
}
