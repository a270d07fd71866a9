/// Why an operation on users was refused, with the codes of Firebase's Admin SDKs.
///
///     do {
///         try await request.users.create(UserCreation(email: email))
///     } catch let error as AuthError where error.code == .emailAlreadyExists {
///         throw HttpsError(.alreadyExists, "There is an account with this address.")
///     }
///
/// A handler that doesn't catch it fails as with any other error: a caller sees INTERNAL, an event is retried. Users that
/// can't be reached at all are another error: `DocumentError`, with `unavailable` if trying again may help.
public struct AuthError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// As in Firebase's documentation: `auth/user-not-found`.
        public var rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No user has this id, address, number or account.
        public static let userNotFound = Code(rawValue: "auth/user-not-found")
        /// No user has the address that a link was asked for.
        public static let emailNotFound = Code(rawValue: "auth/email-not-found")
        public static let uidAlreadyExists = Code(rawValue: "auth/uid-already-exists")
        public static let emailAlreadyExists = Code(rawValue: "auth/email-already-exists")
        public static let phoneNumberAlreadyExists = Code(rawValue: "auth/phone-number-already-exists")
        /// The account at a provider belongs to another user.
        public static let credentialAlreadyInUse = Code(rawValue: "auth/credential-already-in-use")
        /// Not 1 to 128 characters.
        public static let invalidUID = Code(rawValue: "auth/invalid-uid")
        public static let invalidEmail = Code(rawValue: "auth/invalid-email")
        public static let invalidNewEmail = Code(rawValue: "auth/invalid-new-email")
        /// Not a plus sign and up to 15 digits.
        public static let invalidPhoneNumber = Code(rawValue: "auth/invalid-phone-number")
        /// Too short, or not what the project's password policy asks for.
        public static let invalidPassword = Code(rawValue: "auth/invalid-password")
        public static let invalidClaims = Code(rawValue: "auth/invalid-claims")
        /// More than 1,000 characters of JSON.
        public static let claimsTooLarge = Code(rawValue: "auth/claims-too-large")
        /// The name of a claim is reserved, such as `sub`.
        public static let forbiddenClaim = Code(rawValue: "auth/forbidden-claim")
        /// Not an absolute URL.
        public static let invalidContinueURI = Code(rawValue: "auth/invalid-continue-uri")
        /// The URL's domain isn't among the project's authorized domains.
        public static let unauthorizedContinueURI = Code(rawValue: "auth/unauthorized-continue-uri")
        public static let invalidPageToken = Code(rawValue: "auth/invalid-page-token")
        /// More users than one request may have.
        public static let maximumUserCountExceeded = Code(rawValue: "auth/maximum-user-count-exceeded")
        public static let argumentError = Code(rawValue: "auth/argument-error")
        public static let operationNotAllowed = Code(rawValue: "auth/operation-not-allowed")
        public static let insufficientPermission = Code(rawValue: "auth/insufficient-permission")
        public static let tooManyRequests = Code(rawValue: "auth/too-many-requests")
        public static let quotaExceeded = Code(rawValue: "auth/quota-exceeded")
        public static let projectNotFound = Code(rawValue: "auth/project-not-found")
        public static let configurationNotFound = Code(rawValue: "auth/configuration-not-found")
        /// Any other refusal; the message has it.
        public static let internalError = Code(rawValue: "auth/internal-error")
    }

    public let code: Code
    /// A sentence for the developer.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }
}

extension AuthError {
    /// - Parameter refusal: the message of Identity Toolkit's error: `EMAIL_EXISTS`, or `WEAK_PASSWORD : …`.
    package init(refusal: String) {
        let name = refusal.prefix { $0 != ":" && $0 != " " }
        let detail = refusal.dropFirst(name.count).drop { $0 == ":" || $0 == " " }
        guard let (code, sentence) = Self.known[String(name)] else {
            self.init(.internalError, refusal)
            return
        }
        self.init(code, detail.isEmpty ? sentence : "\(sentence): \(detail)")
    }

    private static let known: [String: (Code, String)] = [
        "USER_NOT_FOUND": (.userNotFound, "there is no such user"),
        "EMAIL_NOT_FOUND": (.emailNotFound, "no user has this email address"),
        "DUPLICATE_LOCAL_ID": (.uidAlreadyExists, "another user has this uid"),
        "EMAIL_EXISTS": (.emailAlreadyExists, "another user has this email address"),
        "DUPLICATE_EMAIL": (.emailAlreadyExists, "another user has this email address"),
        "PHONE_NUMBER_EXISTS": (.phoneNumberAlreadyExists, "another user has this phone number"),
        "FEDERATED_USER_ID_ALREADY_LINKED": (
            .credentialAlreadyInUse, "another user has this account at the provider"
        ),
        "INVALID_LOCAL_ID": (.invalidUID, "the uid is invalid"),
        "MISSING_LOCAL_ID": (.invalidUID, "the uid is empty"),
        "INVALID_EMAIL": (.invalidEmail, "the email address is invalid"),
        "MISSING_EMAIL": (.invalidEmail, "the email address is missing"),
        "INVALID_NEW_EMAIL": (.invalidNewEmail, "the new email address is invalid"),
        "MISSING_NEW_EMAIL": (.invalidNewEmail, "the new email address is missing"),
        "INVALID_PHONE_NUMBER": (.invalidPhoneNumber, "the phone number is invalid; write it as +4915112345678"),
        "WEAK_PASSWORD": (.invalidPassword, "the password is too weak"),
        "PASSWORD_DOES_NOT_MEET_REQUIREMENTS": (.invalidPassword, "the password lacks what the project asks for"),
        "INVALID_CLAIMS": (.invalidClaims, "the claims are not a JSON object"),
        "CLAIMS_TOO_LARGE": (.claimsTooLarge, "the claims have more than 1,000 characters as JSON"),
        "FORBIDDEN_CLAIM": (.forbiddenClaim, "the name of a claim is reserved"),
        "INVALID_CONTINUE_URI": (.invalidContinueURI, "the URL to continue at is invalid"),
        "MISSING_CONTINUE_URI": (.invalidContinueURI, "the URL to continue at is missing"),
        "UNAUTHORIZED_DOMAIN": (.unauthorizedContinueURI, "the URL's domain isn't authorized"),
        "INVALID_PAGE_SELECTION": (.invalidPageToken, "the page token is invalid"),
        "LOCAL_ID_LIST_EXCEEDS_LIMIT": (.maximumUserCountExceeded, "one request may have 1,000 users"),
        "INVALID_ARGUMENT": (.argumentError, "an argument is invalid"),
        "UNEXPECTED_PARAMETER": (.argumentError, "an argument is invalid"),
        "OPERATION_NOT_ALLOWED": (.operationNotAllowed, "the project doesn't allow this"),
        "PERMISSION_DENIED": (.insufficientPermission, "the service account may not do this"),
        "INSUFFICIENT_PERMISSION": (.insufficientPermission, "the service account may not do this"),
        "TOO_MANY_ATTEMPTS_TRY_LATER": (.tooManyRequests, "too many requests; retry later"),
        "QUOTA_EXCEEDED": (.quotaExceeded, "the project's quota is exhausted"),
        "PROJECT_NOT_FOUND": (.projectNotFound, "there is no such project"),
        "CONFIGURATION_NOT_FOUND": (.configurationNotFound, "the project has no sign-in; enable it first"),
    ]
}
