import DocumentModel
import StrictJSON

extension UserRecord {
    /// A user in the JSON of Identity Toolkit, where numbers are texts.
    ///
    /// - Throws: `DocumentError` if the user has no id.
    init(account: JSONValue) throws {
        guard let uid = account["localId"]?.stringValue else {
            throw DocumentError(.internal, "the users' service returned a user without an id")
        }
        self.init(
            uid: uid, email: account["email"]?.stringValue, emailVerified: account["emailVerified"]?.boolValue ?? false,
            displayName: account["displayName"]?.stringValue, photoURL: account["photoUrl"]?.stringValue,
            phoneNumber: account["phoneNumber"]?.stringValue, disabled: account["disabled"]?.boolValue ?? false)
        metadata = UserMetadata(
            creationTime: account.milliseconds("createdAt"), lastSignInTime: account.milliseconds("lastLoginAt"),
            lastRefreshTime: account["lastRefreshAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) })
        tokensValidAfterTime = account.number("validSince").map { Timestamp(seconds: $0, nanoseconds: 0) }
        providerData = (account["providerUserInfo"]?.arrayValue ?? []).compactMap { provider in
            guard let id = provider["providerId"]?.stringValue else { return nil }
            return UserInfo(
                providerID: id,
                uid: provider["rawId"]?.stringValue ?? provider["federatedId"]?.stringValue ?? "",
                email: provider["email"]?.stringValue, displayName: provider["displayName"]?.stringValue,
                photoURL: provider["photoUrl"]?.stringValue)
        }
        enrolledFactors = (account["mfaInfo"]?.arrayValue ?? []).compactMap { factor in
            guard let id = factor["mfaEnrollmentId"]?.stringValue else { return nil }
            return MultiFactorInfo(
                uid: id, displayName: factor["displayName"]?.stringValue,
                enrollmentTime: factor["enrolledAt"]?.stringValue.flatMap { Timestamp(rfc3339: $0) },
                phoneNumber: factor["phoneInfo"]?.stringValue)
        }
        if let text = account["customAttributes"]?.stringValue,
            let claims = (try? JSONValue(parsing: Array(text.utf8)))?.objectValue
        {
            customClaims = Dictionary(claims.map { ($0.key, $0.value) }) { $1 }
        }
    }
}

extension JSONValue {
    fileprivate func number(_ name: String) -> Int64? {
        switch self[name] {
        case .string(let text)?: Int64(text)
        case .integer(let number)?: number
        default: nil
        }
    }

    fileprivate func milliseconds(_ name: String) -> Timestamp? {
        guard let number = number(name) else { return nil }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : Timestamp(microseconds: microseconds)
    }
}
