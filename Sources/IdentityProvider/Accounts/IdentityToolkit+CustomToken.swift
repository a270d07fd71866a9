import Foundation
import StrictJSON
import TokenVerification
import UserStore

extension IdentityToolkit {
    static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    /// Signs in the user that server code names, who may be new.
    func signInWithCustomToken(_ call: SignInCall) async throws -> JSONObject {
        let payload = try customTokenPayload(try require(call["token"], "MISSING_CUSTOM_TOKEN"))
        if payload["tenant_id"].map({ !$0.isNull }) == true { throw Self.noTenants }
        let uid = try require(Self.text(payload["uid"]) ?? Self.text(payload["user_id"]), "MISSING_IDENTIFIER")
        try Profile.check(uid: uid)
        var claims: String?
        if let given = payload["claims"], !given.isNull {
            let object = try require(given.objectValue, "INVALID_CLAIMS")
            try IDTokenClaims.check(object)
            let bytes = try JSONValue.object(object).serialized()
            try require(bytes.count <= 8 * IDTokenClaims.maxCharacters, "CLAIMS_TOO_LARGE")
            if !object.isEmpty { claims = String(decoding: bytes, as: UTF8.self) }
        }
        let text = claims
        let outcome = try await users.commit(in: call.context) { transaction in
            let known = try transaction.user(uid)
            var user = known ?? UserRecord(uid: uid, createdAt: transaction.milliseconds)
            if known == nil { user.randomizeSignInGeneration() }
            user.usesCustomToken = true
            return try complete(
                SignInCandidate(
                    user: user, isNew: known == nil, provider: "custom", claims: text, asksForSecondFactor: false),
                from: call.origin, in: transaction)
        }
        return merged(
            [
                "kind": "identitytoolkit#VerifyCustomTokenResponse", "isNewUser": .bool(outcome.isNew),
            ], with: try fields(of: outcome))
    }

    /// The service account by which this host signs custom tokens for its functions.
    package static func customTokenIssuer(of project: String) -> String {
        "functions-host@\(project).iam.gserviceaccount.com"
    }

    private static let customTokenLifetime: Int64 = 3600

    /// Signs a custom token for a function.
    ///
    /// - Parameter request: `{"uid":…,"claims":{…}}`.
    func makeCustomToken(_ request: JSONObject) throws -> JSONObject {
        let uid = try require(Self.text(request["uid"]), "INVALID_LOCAL_ID : A user id has 1 to 128 characters.")
        try Profile.check(uid: uid)
        let account = JSONValue.string(Self.customTokenIssuer(of: project))
        var payload: JSONObject = [
            "iss": account, "sub": account, "aud": .string(Self.customTokenAudience), "uid": .string(uid),
            "iat": .integer(now()), "exp": .integer(now() + Self.customTokenLifetime),
        ]
        if let claims = request["claims"], !claims.isNull {
            try IDTokenClaims.check(try require(claims.objectValue, "INVALID_CLAIMS"))
            payload["claims"] = claims
        }
        return ["token": .string(try issuer.sign(payload))]
    }

    private func customTokenPayload(_ token: String) throws(IdentityToolkitError) -> JSONObject {
        if isDevelopment, token.hasPrefix("{") {
            guard let payload = (try? JSONValue(parsing: Array(token.utf8)))?.objectValue else {
                throw IdentityToolkitError("INVALID_CUSTOM_TOKEN : The token is not JSON.")
            }
            return payload
        }
        do throws(CustomTokenError) {
            return try customTokens.payload(of: token, audience: Self.customTokenAudience, now: now())
        } catch {
            throw IdentityToolkitError("INVALID_CUSTOM_TOKEN : \(error.reason)")
        }
    }

    private static func text(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text)?: text.isEmpty ? nil : text
        case .integer(let number)?: String(number)
        case .bool(let flag)?: String(flag)
        default: nil
        }
    }
}
