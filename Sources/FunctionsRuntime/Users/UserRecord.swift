public import DocumentModel
public import StrictJSON

/// A user of the project, as Firebase Authentication describes it.
public struct UserRecord: Hashable, Sendable {
    public var uid: String
    /// In lower case; nil for users without an email address.
    public var email: String?
    public var emailVerified: Bool
    public var displayName: String?
    public var photoURL: String?
    /// With a plus sign and the country: `+4915112345678`.
    public var phoneNumber: String?
    public var disabled: Bool
    public var metadata: UserMetadata
    /// The providers by which the user signs in, the password and the phone number among them.
    public var providerData: [UserInfo]
    /// The claims that an admin has set; they are in the user's tokens.
    public var customClaims: [String: JSONValue]
    /// Tokens issued before this time are revoked. Nil if the record comes with an event.
    public var tokensValidAfterTime: Timestamp?
    /// What the user proves besides the first factor. Empty if the record comes with an event.
    public var enrolledFactors: [MultiFactorInfo]

    public init(
        uid: String, email: String? = nil, emailVerified: Bool = false, displayName: String? = nil,
        photoURL: String? = nil, phoneNumber: String? = nil, disabled: Bool = false,
        metadata: UserMetadata = UserMetadata(), providerData: [UserInfo] = [],
        customClaims: [String: JSONValue] = [:], tokensValidAfterTime: Timestamp? = nil,
        enrolledFactors: [MultiFactorInfo] = []
    ) {
        self.uid = uid
        self.email = email
        self.emailVerified = emailVerified
        self.displayName = displayName
        self.photoURL = photoURL
        self.phoneNumber = phoneNumber
        self.disabled = disabled
        self.metadata = metadata
        self.providerData = providerData
        self.customClaims = customClaims
        self.tokensValidAfterTime = tokensValidAfterTime
        self.enrolledFactors = enrolledFactors
    }
}

/// A second factor that a user has enrolled.
public struct MultiFactorInfo: Hashable, Sendable {
    public var uid: String
    public var displayName: String?
    public var enrollmentTime: Timestamp?
    /// Nil for an authenticator app.
    public var phoneNumber: String?

    public init(
        uid: String, displayName: String? = nil, enrollmentTime: Timestamp? = nil, phoneNumber: String? = nil
    ) {
        self.uid = uid
        self.displayName = displayName
        self.enrollmentTime = enrollmentTime
        self.phoneNumber = phoneNumber
    }
}

/// When a user was created and has signed in.
public struct UserMetadata: Hashable, Sendable {
    public var creationTime: Timestamp?
    /// Nil for a user who has never signed in.
    public var lastSignInTime: Timestamp?
    /// When the user's token was refreshed last. Nil if the record comes with an event.
    public var lastRefreshTime: Timestamp?

    public init(
        creationTime: Timestamp? = nil, lastSignInTime: Timestamp? = nil, lastRefreshTime: Timestamp? = nil
    ) {
        self.creationTime = creationTime
        self.lastSignInTime = lastSignInTime
        self.lastRefreshTime = lastRefreshTime
    }
}

/// A user's account at a provider.
public struct UserInfo: Hashable, Sendable {
    /// `password`, `phone`, or an identity provider such as `google.com`.
    public var providerID: String
    /// The user's id at the provider: for `password` the email address, for `phone` the number.
    public var uid: String
    public var email: String?
    public var displayName: String?
    public var photoURL: String?

    public init(
        providerID: String, uid: String, email: String? = nil, displayName: String? = nil, photoURL: String? = nil
    ) {
        self.providerID = providerID
        self.uid = uid
        self.email = email
        self.displayName = displayName
        self.photoURL = photoURL
    }
}

// The JSON of events: `AuthEventData` of google.events.firebase.auth.v1.

extension UserRecord: Codable {
    private enum CodingKeys: String, CodingKey {
        case uid, email, emailVerified, displayName, photoURL, phoneNumber, disabled, metadata, providerData
        case customClaims
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            uid: try values.decode(String.self, forKey: .uid),
            email: try values.decodeIfPresent(String.self, forKey: .email),
            emailVerified: try values.decodeIfPresent(Bool.self, forKey: .emailVerified) ?? false,
            displayName: try values.decodeIfPresent(String.self, forKey: .displayName),
            photoURL: try values.decodeIfPresent(String.self, forKey: .photoURL),
            phoneNumber: try values.decodeIfPresent(String.self, forKey: .phoneNumber),
            disabled: try values.decodeIfPresent(Bool.self, forKey: .disabled) ?? false,
            metadata: try values.decodeIfPresent(UserMetadata.self, forKey: .metadata) ?? UserMetadata(),
            providerData: try values.decodeIfPresent([UserInfo].self, forKey: .providerData) ?? [],
            customClaims: try values.decodeIfPresent([String: JSONValue].self, forKey: .customClaims) ?? [:])
    }
}

extension UserMetadata: Codable {
    private enum CodingKeys: String, CodingKey {
        case creationTime = "createTime"
        case lastSignInTime
        case lastRefreshTime
    }
}

extension UserInfo: Codable {
    private enum CodingKeys: String, CodingKey {
        case providerID = "providerId"
        case uid, email, displayName, photoURL
    }
}
