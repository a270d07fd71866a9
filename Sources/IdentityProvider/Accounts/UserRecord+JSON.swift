import DocumentModel
import StrictJSON
import TextFormats
import UserStore

extension UserRecord {
    /// What stands in place of a password's hash for clients, which only look whether there is one: as with Google.
    static let redactedHash = "UkVEQUNURUQ="

    /// The user as SDKs read it. Numbers are texts.
    ///
    /// - Parameter isWhole: whether it has the password's hash, which only admins see.
    func json(isWhole: Bool) -> JSONObject {
        var json: JSONObject = ["localId": .string(uid), "createdAt": .string(String(createdAt))]
        json["lastLoginAt"] = lastSignInAt.map { .string(String($0)) }
        json["lastRefreshAt"] = lastRefreshAt.map { .string(Timestamp(milliseconds: $0).rfc3339) }
        json["email"] = email.map(JSONValue.string)
        if email != nil || isEmailVerified { json["emailVerified"] = .bool(isEmailVerified) }
        json["displayName"] = displayName.map(JSONValue.string)
        json["photoUrl"] = photoURL.map(JSONValue.string)
        json["phoneNumber"] = phoneNumber.map(JSONValue.string)
        json["initialEmail"] = initialEmail.map(JSONValue.string)
        json["disabled"] = .bool(isDisabled)
        json["customAttributes"] = claims.map(JSONValue.string)
        if usesCustomToken { json["customAuth"] = true }
        if usesEmailLink { json["emailLinkSignin"] = true }
        if let password {
            json["passwordHash"] = .string(isWhole ? Base64URL.encodePadded(password.hash) : Self.redactedHash)
            if isWhole { json["salt"] = .string(Base64URL.encodePadded(password.salt)) }
        }
        json["passwordUpdatedAt"] = passwordUpdatedAt.map { .integer($0) }
        json["validSince"] = validSince.map { .string(String($0)) }
        let providers = providerInfo
        if !providers.isEmpty { json["providerUserInfo"] = .array(providers.map(JSONValue.object)) }
        if !secondFactors.isEmpty { json["mfaInfo"] = .array(secondFactors.map { .object($0.json) }) }
        return json
    }

    /// The providers by which the user can sign in.
    var providerInfo: [JSONObject] {
        var providers: [JSONObject] = []
        if let email, hasEmailProvider {
            var provider: JSONObject = [
                "providerId": "password", "federatedId": .string(email), "rawId": .string(email),
                "email": .string(email),
            ]
            provider["displayName"] = displayName.map(JSONValue.string)
            provider["photoUrl"] = photoURL.map(JSONValue.string)
            providers.append(provider)
        }
        providers += identities.map(\.json)
        if let number = phoneNumber {
            providers.append([
                "providerId": "phone", "rawId": .string(number), "phoneNumber": .string(number),
            ])
        }
        return providers
    }
}

extension ProviderIdentity {
    fileprivate var json: JSONObject {
        var json: JSONObject = [
            "providerId": .string(provider), "rawId": .string(rawID), "federatedId": .string(federatedID ?? rawID),
        ]
        json["email"] = email.map(JSONValue.string)
        json["displayName"] = displayName.map(JSONValue.string)
        json["photoUrl"] = photoURL.map(JSONValue.string)
        json["screenName"] = screenName.map(JSONValue.string)
        return json
    }
}

extension SecondFactor {
    var json: JSONObject {
        var json = outline
        if case .phone(let number) = kind {
            json["phoneInfo"] = .string(number)
            json["unobfuscatedPhoneInfo"] = .string(number)
        }
        return json
    }

    /// With the secret of an authenticator app, for exports.
    var jsonWithSecret: JSONObject {
        var json = json
        if case .authenticator(let secret, _) = kind {
            json["totpInfo"] = ["sharedSecretKey": .string(Authenticator.text(of: secret))]
        }
        return json
    }

    /// What a client sees before it has proved the second factor.
    var hint: JSONObject {
        var json = outline
        if case .phone(let number) = kind { json["phoneInfo"] = .string(Self.masked(number)) }
        return json
    }

    private var outline: JSONObject {
        var json: JSONObject = [
            "mfaEnrollmentId": .string(id), "enrolledAt": .string(Timestamp(milliseconds: enrolledAt).withMilliseconds),
        ]
        json["displayName"] = displayName.map(JSONValue.string)
        if case .authenticator = kind { json["totpInfo"] = [:] }
        return json
    }

    /// A phone number of which the last four digits can be read.
    static func masked(_ number: String) -> String {
        var shown = 4
        let reversed = number.reversed().map { character -> Character in
            guard character.isASCII, character.isNumber else { return character }
            shown -= 1
            return shown >= 0 ? character : "*"
        }
        return String(reversed.reversed())
    }
}

extension Timestamp {
    /// As `2026-01-02T03:04:05.000Z`, also at a whole second: iOS reads no time without.
    var withMilliseconds: String {
        let text = rfc3339
        return text.utf8.contains(UInt8(ascii: ".")) ? text : String(text.dropLast()) + ".000Z"
    }
}

extension Base64URL {
    /// With padding, as Google's APIs write bytes.
    static func encodePadded(_ bytes: [UInt8]) -> String {
        let text = encode(bytes)
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }
}
