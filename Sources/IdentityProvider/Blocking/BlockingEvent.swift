import StrictJSON
import UserStore

/// How a client signs in, as blocking functions see it.
struct SignInMethod: Sendable {
    /// `password`, `emailLink`, `phone` or the provider's id.
    var name: String
    var secondFactor: String?
    /// What the provider says of the user.
    var profile: JSONObject?
    var idToken: String?
    var accessToken: String?
    var refreshToken: String?
    /// When the access token expires, in seconds from now.
    var expiresIn: Int64?

    init(_ name: String, secondFactor: String? = nil) {
        self.name = name
        self.secondFactor = secondFactor
    }
}

extension IdentityToolkit {
    /// The event of a blocking function: the claims that Google's have, as JSON.
    func blockingEvent(
        _ moment: BlockingMoment, _ user: UserRecord?, _ method: SignInMethod?, _ call: SignInCall
    ) -> JSONObject {
        let time = now()
        var event: JSONObject = [
            "event_id": .string(Secrets.id(22)), "event_type": .string(moment.rawValue), "iat": .integer(time),
            "exp": .integer(time + 60), "iss": .string("https://securetoken.google.com/\(project)"),
            "ip_address": .string(call.origin.address), "locale": .string(call.origin.locale),
        ]
        event["user_agent"] = call.origin.userAgent.map(JSONValue.string)
        if let user {
            event["sub"] = .string(user.uid)
            event["user_record"] = .object(user.blockingRecord)
        }
        if let method {
            event["sign_in_method"] = .string(method.name)
            event["sign_in_second_factor"] = method.secondFactor.map(JSONValue.string)
            event["raw_user_info"] = method.profile.map(JSONValue.object)
            event["oauth_id_token"] = method.idToken.map(JSONValue.string)
            event["oauth_access_token"] = method.accessToken.map(JSONValue.string)
            event["oauth_refresh_token"] = method.refreshToken.map(JSONValue.string)
            event["oauth_expires_in"] = method.expiresIn.map { .integer($0) }
        }
        return event
    }
}

extension UserRecord {
    fileprivate var blockingRecord: JSONObject {
        var record: JSONObject = [
            "uid": .string(uid), "email_verified": .bool(isEmailVerified), "disabled": .bool(isDisabled),
        ]
        record["email"] = email.map(JSONValue.string)
        record["display_name"] = displayName.map(JSONValue.string)
        record["photo_url"] = photoURL.map(JSONValue.string)
        record["phone_number"] = phoneNumber.map(JSONValue.string)
        let custom = IDTokenClaims.custom(claims)
        if !custom.isEmpty { record["custom_claims"] = .object(custom) }
        var metadata: JSONObject = ["creation_time": .integer(createdAt)]
        metadata["last_sign_in_time"] = lastSignInAt.map { .integer($0) }
        record["metadata"] = .object(metadata)
        let providers = providerInfo.map { info in
            var data: JSONObject = ["provider_id": info["providerId"] ?? "", "uid": info["rawId"] ?? ""]
            data["email"] = info["email"]
            data["display_name"] = info["displayName"]
            data["photo_url"] = info["photoUrl"]
            data["phone_number"] = info["phoneNumber"]
            return JSONValue.object(data)
        }
        record["provider_data"] = .array(providers)
        return record
    }
}
