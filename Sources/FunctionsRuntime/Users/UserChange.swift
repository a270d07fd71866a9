public import StrictJSON

/// A user to create.
public struct UserCreation: Hashable, Sendable {
    /// 1 to 128 characters; nil to have one generated.
    public var uid: String?
    public var email: String?
    public var emailVerified: Bool
    /// At least 6 characters, and what the project's policy asks for; nil for a user without a password.
    public var password: String?
    /// At most 1,000 characters.
    public var displayName: String?
    public var photoURL: String?
    /// With a plus sign and the country: `+4915112345678`.
    public var phoneNumber: String?
    public var disabled: Bool

    public init(
        uid: String? = nil, email: String? = nil, emailVerified: Bool = false, password: String? = nil,
        displayName: String? = nil, photoURL: String? = nil, phoneNumber: String? = nil, disabled: Bool = false
    ) {
        self.uid = uid
        self.email = email
        self.emailVerified = emailVerified
        self.password = password
        self.displayName = displayName
        self.photoURL = photoURL
        self.phoneNumber = phoneNumber
        self.disabled = disabled
    }

    var body: JSONObject {
        var body: JSONObject = [:]
        body["localId"] = uid.map(JSONValue.string)
        body["email"] = email.map(JSONValue.string)
        if emailVerified { body["emailVerified"] = true }
        body["password"] = password.map(JSONValue.string)
        body["displayName"] = displayName.map(JSONValue.string)
        body["photoUrl"] = photoURL.map(JSONValue.string)
        body["phoneNumber"] = phoneNumber.map(JSONValue.string)
        if disabled { body["disabled"] = true }
        return body
    }
}

/// A change of a user. What isn't set stays as it is.
public struct UserUpdate: Hashable, Sendable {
    /// A new address isn't verified, unless ``emailVerified`` says so, and ends the user's sign-ins. Nil leaves it.
    public var email: String?
    public var emailVerified: Bool?
    /// Ends the user's sign-ins. Nil leaves it.
    public var password: String?
    public var disabled: Bool?
    /// The ids of providers to unlink, such as `google.com`.
    public var providersToUnlink: [String] = []
    /// The account at a provider to link, in place of an earlier one there. Its `uid` is the id at the provider.
    public var providerToLink: UserInfo?
    private var newDisplayName: Replacement<String>?
    private var newPhotoURL: Replacement<String>?
    private var newPhoneNumber: Replacement<String>?
    private var newClaims: Replacement<[String: JSONValue]>?

    private struct Replacement<Value: Hashable & Sendable>: Hashable, Sendable {
        /// Nil to remove what is there.
        var value: Value?
    }

    public init() {}

    /// Setting nil removes the name. Reading returns what was set here.
    public var displayName: String? {
        get { newDisplayName?.value }
        set { newDisplayName = Replacement(value: newValue) }
    }

    /// Setting nil removes the picture. Reading returns what was set here.
    public var photoURL: String? {
        get { newPhotoURL?.value }
        set { newPhotoURL = Replacement(value: newValue) }
    }

    /// Setting nil removes the number, and with it signing in by it. Reading returns what was set here.
    public var phoneNumber: String? {
        get { newPhoneNumber?.value }
        set { newPhoneNumber = Replacement(value: newValue) }
    }

    /// Replaces all custom claims; setting nil removes them. Reading returns what was set here.
    public var customClaims: [String: JSONValue]? {
        get { newClaims?.value }
        set { newClaims = Replacement(value: newValue) }
    }

    /// Tokens issued before this time, in seconds since 1970, are revoked.
    var validSince: Int64?

    func body(for uid: String) throws -> JSONObject {
        var body: JSONObject = ["localId": .string(uid)]
        body["email"] = email.map(JSONValue.string)
        body["emailVerified"] = emailVerified.map(JSONValue.bool)
        body["password"] = password.map(JSONValue.string)
        body["disableUser"] = disabled.map(JSONValue.bool)
        body["displayName"] = newDisplayName?.value.map(JSONValue.string)
        body["photoUrl"] = newPhotoURL?.value.map(JSONValue.string)
        body["phoneNumber"] = newPhoneNumber?.value.map(JSONValue.string)
        body["validSince"] = validSince.map { .string(String($0)) }
        if let newClaims { body["customAttributes"] = .string(try Self.text(of: newClaims.value ?? [:])) }
        var removed: [JSONValue] = []
        if let newDisplayName, newDisplayName.value == nil { removed.append("DISPLAY_NAME") }
        if let newPhotoURL, newPhotoURL.value == nil { removed.append("PHOTO_URL") }
        if !removed.isEmpty { body["deleteAttribute"] = .array(removed) }
        var unlinked = providersToUnlink
        if let newPhoneNumber, newPhoneNumber.value == nil, !unlinked.contains("phone") { unlinked.append("phone") }
        if !unlinked.isEmpty { body["deleteProvider"] = .array(unlinked.map(JSONValue.string)) }
        if let account = providerToLink {
            var link: JSONObject = ["providerId": .string(account.providerID), "rawId": .string(account.uid)]
            link["email"] = account.email.map(JSONValue.string)
            link["displayName"] = account.displayName.map(JSONValue.string)
            link["photoUrl"] = account.photoURL.map(JSONValue.string)
            body["linkProviderUserInfo"] = .object(link)
        }
        return body
    }

    private static func text(of claims: [String: JSONValue]) throws -> String {
        let members = claims.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return String(decoding: try JSONValue.object(JSONObject(members)).serialized(), as: UTF8.self)
    }
}
