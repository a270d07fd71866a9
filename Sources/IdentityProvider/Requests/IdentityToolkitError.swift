import HTTPTypes
import StrictJSON
import UserStore

/// An error in the format that Firebase's sign-in clients read.
struct IdentityToolkitError: Error, Hashable, Sendable {
    var status: HTTPResponse.Status = .badRequest
    /// The text that clients compare, such as `INVALID_ID_TOKEN`, and after a colon what people read.
    var message: String
    var reason = "invalid"
    /// The name of the canonical status, for errors where clients expect it beside the message.
    var name: String?

    init(
        _ message: String, status: HTTPResponse.Status = .badRequest, reason: String = "invalid", name: String? = nil
    ) {
        self.message = message
        self.status = status
        self.reason = reason
        self.name = name
    }

    init(_ conflict: UserConflict) {
        switch conflict {
        case .uidExists: self.init("DUPLICATE_LOCAL_ID")
        case .emailExists: self.init("EMAIL_EXISTS")
        case .phoneNumberExists: self.init("PHONE_NUMBER_EXISTS")
        case .identityExists: self.init("FEDERATED_USER_ID_ALREADY_LINKED")
        case .noSuchUser: self.init("USER_NOT_FOUND")
        }
    }

    static let invalidIDToken = Self("INVALID_ID_TOKEN")
    static let userNotFound = Self("USER_NOT_FOUND")
    static let userDisabled = Self("USER_DISABLED")
    static let invalidCode = Self("INVALID_OOB_CODE")
    static let expiredCode = Self("EXPIRED_OOB_CODE")
    static let lostAddressIsTaken = Self(
        "EMAIL_EXISTS : Another account has this email address. Delete it or change its address, and follow the link "
            + "again.")
    static let tooManyAttempts = Self(
        "TOO_MANY_ATTEMPTS_TRY_LATER : Access has been paused because of too many failed attempts; retry later.")

    static func invalidBody(_ problem: String) -> Self {
        Self(
            "Invalid JSON payload received. \(problem)", reason: "badRequest", name: "INVALID_ARGUMENT")
    }
    static func invalidArgument(_ problem: String) -> Self {
        Self("INVALID_ARGUMENT : \(problem)", name: "INVALID_ARGUMENT")
    }
    static func bodyTooLarge(_ bytes: Int) -> Self {
        Self(
            "Request body is larger than \(bytes / 1024) KiB.", status: .contentTooLarge, reason: "uploadTooLarge")
    }
    static let missingKey = Self(
        "The request is missing a valid API key.", status: .forbidden, reason: "forbidden", name: "PERMISSION_DENIED")
    static let permissionDenied = Self(
        "The caller does not have permission", status: .forbidden, reason: "forbidden", name: "PERMISSION_DENIED")
    static let unauthenticated = Self(
        "Request had invalid authentication credentials. Expected OAuth 2 access token.", status: .unauthorized,
        reason: "authError", name: "UNAUTHENTICATED")
    static let missingCredentials = Self(
        "Request is missing required authentication credential. Expected OAuth 2 access token.",
        status: .unauthorized, reason: "required", name: "UNAUTHENTICATED")
    static let invalidAppCheckToken = Self(
        "Firebase App Check token is invalid.", status: .unauthorized, reason: "unauthorized", name: "UNAUTHENTICATED")
    static let insufficientPermission = Self("INSUFFICIENT_PERMISSION")
    static let notFound = Self("Not Found", status: .notFound, reason: "notFound", name: "NOT_FOUND")
    static let unavailable = Self(
        "The service is currently unavailable.", status: .serviceUnavailable, reason: "backendError",
        name: "UNAVAILABLE")
    static let tooManyMessages = Self(
        "Too many messages wait to be sent; retry later.", status: .serviceUnavailable, reason: "backendError",
        name: "UNAVAILABLE")
    static let `internal` = Self(
        "Internal error encountered.", status: .internalServerError, reason: "backendError", name: "INTERNAL")

    static func notSupported(_ message: String) -> Self {
        Self(message, status: .notImplemented, reason: "notImplemented", name: "NOT_IMPLEMENTED")
    }

    /// What people read, without the text that clients compare.
    var sentence: String { message.firstRange(of: " : ").map { String(message[$0.upperBound...]) } ?? message }

    /// Whether it is the host's, and the same request may succeed later.
    var mayPass: Bool { status.code >= 500 && status != .notImplemented }

    var body: JSONObject {
        var error: JSONObject = [
            "code": .integer(Int64(status.code)), "message": .string(message),
            "errors": [["message": .string(message), "reason": .string(reason), "domain": "global"]],
        ]
        error["status"] = name.map(JSONValue.string)
        return ["error": .object(error)]
    }
}

/// - Throws: an error with this message if the condition doesn't hold.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(IdentityToolkitError) {
    guard condition else { throw IdentityToolkitError(message()) }
}

/// - Returns: the value.
/// - Throws: an error with this message if there is none.
func require<Value>(_ value: Value?, _ message: @autoclosure () -> String) throws(IdentityToolkitError) -> Value {
    guard let value else { throw IdentityToolkitError(message()) }
    return value
}
