package import StrictJSON
import UserStore

/// When functions may refuse what a client is about to do.
package enum BlockingMoment: String, Hashable, Sendable, CaseIterable {
    case beforeCreate, beforeSignIn, beforeSendEmail
}

/// The functions that may refuse, or change, sign-ups, sign-ins and mails.
package protocol BlockingFunctions: Sendable {
    /// Whether there is a function for this moment.
    func has(_ moment: BlockingMoment) -> Bool

    /// Runs the function.
    ///
    /// - Parameter event: what happens, as JSON.
    /// - Returns: its answer as JSON; nil if there is no function, or it has nothing to say.
    /// - Throws: if it refuses, fails, or takes too long.
    func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue?
}

/// Why a function lets something not happen.
package struct BlockingRefusal: Error, Hashable, Sendable {
    package var function: String
    package var httpStatus: Int
    /// Such as `PERMISSION_DENIED`.
    package var status: String
    package var message: String
    /// JSON; nil if there are none.
    package var details: JSONValue?

    package init(function: String, httpStatus: Int, status: String, message: String, details: JSONValue? = nil) {
        self.function = function
        self.httpStatus = httpStatus
        self.status = status
        self.message = message
        self.details = details
    }

    /// The error that clients read: iOS finds the JSON in it, the JS SDK shows the rest.
    var error: IdentityToolkitError {
        var inner: JSONObject = ["message": .string(message), "status": .string(status)]
        inner["details"] = details
        let text = (try? JSONValue.object(["error": .object(inner)]).serialized()) ?? []
        return IdentityToolkitError(
            "BLOCKING_FUNCTION_ERROR_RESPONSE : ((HTTP request to \(function) returned HTTP error \(httpStatus): "
                + String(decoding: text, as: UTF8.self) + "))")
    }
}

/// No functions.
package struct NoBlockingFunctions: BlockingFunctions {
    package init() {}

    package func has(_ moment: BlockingMoment) -> Bool { false }
    package func run(_ moment: BlockingMoment, _ event: JSONObject) async throws(BlockingRefusal) -> JSONValue? { nil }
}

/// What a function changes of a user.
struct BlockingChanges: Sendable {
    private var user: SignInRequest
    private var customClaims: String?
    /// The claims of this sign-in's tokens, as a JSON object.
    var sessionClaims: String?

    /// - Throws: an ``IdentityToolkitError`` if the answer is invalid.
    init?(_ answer: JSONValue?, at moment: BlockingMoment) throws {
        guard case .object(let object)? = answer, let given = object["userRecord"]?.objectValue else { return nil }
        user = try SignInRequest(json: try JSONValue.object(given).serialized())
        if let claims = given["customClaims"], !claims.isNull {
            let text = String(decoding: try claims.serialized(), as: UTF8.self)
            try IDTokenClaims.check(text)
            customClaims = text
        }
        if moment == .beforeSignIn, let claims = given["sessionClaims"], !claims.isNull {
            let text = String(decoding: try claims.serialized(), as: UTF8.self)
            try IDTokenClaims.check(text)
            sessionClaims = text
        }
        try Profile.check(name: user["displayName"], photoURL: user["photoUrl"])
    }

    func apply(to record: inout UserRecord) {
        if let name = user["displayName"] { record.displayName = name }
        if let picture = user["photoUrl"] { record.photoURL = picture }
        if let isDisabled = user.flag("disabled") { record.isDisabled = isDisabled }
        if let isVerified = user.flag("emailVerified") { record.isEmailVerified = isVerified }
        if let customClaims { record.claims = customClaims }
    }
}
