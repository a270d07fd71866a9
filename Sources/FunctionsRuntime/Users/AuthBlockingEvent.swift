public import DocumentModel
public import StrictJSON

/// What a client is about to do, as a function receives it that may refuse.
public struct AuthBlockingEvent: FunctionInput {
    /// The user as it would be stored; for mails, a user with the address alone.
    public let data: UserRecord
    private let payload: BlockingPayload
    public let context: FunctionContext

    init(_ request: CallableRequest<BlockingPayload>) {
        payload = request.data
        data = payload.user
        context = request.context
    }

    public var eventID: String { payload.eventID }
    /// `beforeCreate`, `beforeSignIn` or `beforeSendEmail`.
    public var eventType: String { payload.eventType }
    public var timestamp: Timestamp { Timestamp(seconds: payload.issuedAt, nanoseconds: 0) }
    /// The client's.
    public var ipAddress: String { payload.ipAddress }
    public var userAgent: String { payload.userAgent ?? "" }
    /// The client's language, such as `en`.
    public var locale: String? { payload.locale }
    /// `PASSWORD_RESET` or `EMAIL_SIGN_IN`; nil for other events.
    public var emailType: String? { payload.emailType }
    /// How the client signs in; nil for mails.
    public var additionalUserInfo: AdditionalUserInfo? {
        payload.signInMethod.map {
            AdditionalUserInfo(
                providerID: $0 == "emailLink" ? "password" : $0, signInMethod: $0, profile: payload.profile,
                isNewUser: eventType == "beforeCreate", secondFactor: payload.secondFactor)
        }
    }
    /// The provider's tokens, of a sign-in by a provider.
    public var credential: AuthCredential? {
        guard let method = payload.signInMethod, payload.idToken != nil || payload.accessToken != nil else {
            return nil
        }
        return AuthCredential(providerID: method, idToken: payload.idToken, accessToken: payload.accessToken)
    }
}

/// How a client signs in.
public struct AdditionalUserInfo: Sendable, Hashable {
    /// `password`, `phone`, or an identity provider such as `google.com`.
    public let providerID: String
    /// The same, or `emailLink`.
    public let signInMethod: String
    /// What the provider says of the user.
    public let profile: JSONValue?
    public let isNewUser: Bool
    /// `phone` or `totp`, if the user has proved a second factor.
    public let secondFactor: String?
}

/// The tokens that a provider has issued to the client.
public struct AuthCredential: Sendable, Hashable {
    public let providerID: String
    public let idToken: String?
    public let accessToken: String?
}

/// What a function of `beforeUserCreated` changes of the user. Nil leaves a value as it is.
public struct BeforeCreateResponse: Sendable, Hashable {
    public var displayName: String?
    public var photoURL: String?
    /// A disabled user is stored, and can't sign in.
    public var disabled: Bool?
    public var emailVerified: Bool?
    /// At most 1,000 characters of JSON.
    public var customClaims: [String: JSONValue]?

    public init(
        displayName: String? = nil, photoURL: String? = nil, disabled: Bool? = nil, emailVerified: Bool? = nil,
        customClaims: [String: JSONValue]? = nil
    ) {
        self.displayName = displayName
        self.photoURL = photoURL
        self.disabled = disabled
        self.emailVerified = emailVerified
        self.customClaims = customClaims
    }
}

/// What a function of `beforeUserSignedIn` changes of the user. Nil leaves a value as it is.
public struct BeforeSignInResponse: Sendable, Hashable {
    public var displayName: String?
    public var photoURL: String?
    /// A disabled user can't sign in, now and later.
    public var disabled: Bool?
    public var emailVerified: Bool?
    /// At most 1,000 characters of JSON.
    public var customClaims: [String: JSONValue]?
    /// Claims of this sign-in's tokens alone, over the custom claims. At most 1,000 characters of JSON.
    public var sessionClaims: [String: JSONValue]?

    public init(
        displayName: String? = nil, photoURL: String? = nil, disabled: Bool? = nil, emailVerified: Bool? = nil,
        customClaims: [String: JSONValue]? = nil, sessionClaims: [String: JSONValue]? = nil
    ) {
        self.displayName = displayName
        self.photoURL = photoURL
        self.disabled = disabled
        self.emailVerified = emailVerified
        self.customClaims = customClaims
        self.sessionClaims = sessionClaims
    }
}

/// A response as the host, and Google's sign-in, receive it.
struct BlockingFields: Encodable, Sendable {
    var displayName: String?
    var photoUrl: String?
    var disabled: Bool?
    var emailVerified: Bool?
    var customClaims: [String: JSONValue]?
    var sessionClaims: [String: JSONValue]?

    private enum CodingKeys: String, CodingKey {
        case displayName, photoUrl, disabled, emailVerified, customClaims, sessionClaims, updateMask
    }

    /// Google changes what the mask names.
    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(displayName, forKey: .displayName)
        try values.encodeIfPresent(photoUrl, forKey: .photoUrl)
        try values.encodeIfPresent(disabled, forKey: .disabled)
        try values.encodeIfPresent(emailVerified, forKey: .emailVerified)
        try values.encodeIfPresent(customClaims, forKey: .customClaims)
        try values.encodeIfPresent(sessionClaims, forKey: .sessionClaims)
        let isSet: [(CodingKeys, Bool)] = [
            (.displayName, displayName != nil), (.photoUrl, photoUrl != nil), (.disabled, disabled != nil),
            (.emailVerified, emailVerified != nil), (.customClaims, customClaims != nil),
            (.sessionClaims, sessionClaims != nil),
        ]
        let mask = isSet.filter(\.1).map(\.0.rawValue).joined(separator: ",")
        try values.encode(mask, forKey: .updateMask)
    }
}

protocol BlockingResponse: Sendable {
    var fields: BlockingFields { get }
}

extension BeforeCreateResponse: BlockingResponse {
    var fields: BlockingFields {
        BlockingFields(
            displayName: displayName, photoUrl: photoURL, disabled: disabled, emailVerified: emailVerified,
            customClaims: customClaims)
    }
}

extension BeforeSignInResponse: BlockingResponse {
    var fields: BlockingFields {
        BlockingFields(
            displayName: displayName, photoUrl: photoURL, disabled: disabled, emailVerified: emailVerified,
            customClaims: customClaims, sessionClaims: sessionClaims)
    }
}

/// The answer as the host, and Google's Identity Platform, receive it.
struct BlockingAnswer: Encodable, Sendable {
    var userRecord: BlockingFields?

    init(_ response: (some BlockingResponse)?) { userRecord = response?.fields }
}

/// The event as the host sends it: the claims of Google's tokens for blocking functions.
struct BlockingPayload: Decodable, Sendable {
    var eventID: String
    var eventType: String
    var issuedAt: Int64
    var ipAddress: String
    var userAgent: String?
    var locale: String?
    var emailType: String?
    var signInMethod: String?
    var secondFactor: String?
    var profile: JSONValue?
    var idToken: String?
    var accessToken: String?
    var user: UserRecord

    private enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case eventType = "event_type"
        case issuedAt = "iat"
        case ipAddress = "ip_address"
        case userAgent = "user_agent"
        case locale
        case emailType = "email_type"
        case email
        case signInMethod = "sign_in_method"
        case secondFactor = "sign_in_second_factor"
        case profile = "raw_user_info"
        case idToken = "oauth_id_token"
        case accessToken = "oauth_access_token"
        case user = "user_record"
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        eventID = try values.decode(String.self, forKey: .eventID)
        eventType = try values.decode(String.self, forKey: .eventType)
        issuedAt = try values.decode(Int64.self, forKey: .issuedAt)
        ipAddress = try values.decodeIfPresent(String.self, forKey: .ipAddress) ?? ""
        userAgent = try values.decodeIfPresent(String.self, forKey: .userAgent)
        locale = try values.decodeIfPresent(String.self, forKey: .locale)
        emailType = try values.decodeIfPresent(String.self, forKey: .emailType)
        signInMethod = try values.decodeIfPresent(String.self, forKey: .signInMethod)
        secondFactor = try values.decodeIfPresent(String.self, forKey: .secondFactor)
        profile = try values.decodeIfPresent(JSONValue.self, forKey: .profile).map(Self.parsed)
        idToken = try values.decodeIfPresent(String.self, forKey: .idToken)
        accessToken = try values.decodeIfPresent(String.self, forKey: .accessToken)
        if let record = try values.decodeIfPresent(BlockingUser.self, forKey: .user) {
            user = record.record
        } else {
            user = UserRecord(uid: "", email: try values.decodeIfPresent(String.self, forKey: .email))
        }
    }

    /// Google's tokens have the profile as JSON in a text.
    private static func parsed(_ value: JSONValue) -> JSONValue {
        guard case .string(let text) = value else { return value }
        return (try? JSONValue(parsing: Array(text.utf8))) ?? value
    }
}

/// `user_record` in the names of Google's tokens. Times are in milliseconds.
private struct BlockingUser: Decodable {
    var uid: String
    var email: String?
    var email_verified: Bool?
    var display_name: String?
    var photo_url: String?
    var phone_number: String?
    var disabled: Bool?
    var custom_claims: [String: JSONValue]?
    var metadata: Times?
    var provider_data: [Provider]?

    struct Times: Decodable {
        var creation_time: Int64?
        var last_sign_in_time: Int64?
    }

    struct Provider: Decodable {
        var provider_id: String
        var uid: String?
        var email: String?
        var display_name: String?
        var photo_url: String?
    }

    var record: UserRecord {
        func time(_ milliseconds: Int64?) -> Timestamp? { milliseconds.map { Timestamp(milliseconds: $0) } }
        return UserRecord(
            uid: uid, email: email, emailVerified: email_verified ?? false, displayName: display_name,
            photoURL: photo_url, phoneNumber: phone_number, disabled: disabled ?? false,
            metadata: UserMetadata(
                creationTime: time(metadata?.creation_time), lastSignInTime: time(metadata?.last_sign_in_time)),
            providerData: (provider_data ?? []).map {
                UserInfo(
                    providerID: $0.provider_id, uid: $0.uid ?? "", email: $0.email, displayName: $0.display_name,
                    photoURL: $0.photo_url)
            }, customClaims: custom_claims ?? [:])
    }
}
