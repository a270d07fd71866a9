import CommitPipeline
import DocumentModel
public import FunctionsRuntime
import FunctionManifest
import StrictJSON
import WorkerProtocol

extension FunctionsTester {
    /// Runs a function of `beforeUserCreated` for a user who signs up.
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - user: As it would be stored.
    ///   - signInMethod: `password`, `emailLink`, `phone`, or an identity provider such as `google.com`.
    /// - Returns: What the function changes; nil for nothing.
    /// - Throws: `HttpsError` as the client would see it, if the function refuses.
    public func beforeUserCreated(
        _ name: String, user: UserRecord, signInMethod: String = "password"
    ) async throws -> BeforeCreateResponse? {
        let answer = try await block(name, at: .beforeCreate, user: user, signInMethod: signInMethod)
        return answer.map { fields in
            BeforeCreateResponse(
                displayName: fields["displayName"]?.stringValue, photoURL: fields["photoUrl"]?.stringValue,
                disabled: fields["disabled"]?.boolValue, emailVerified: fields["emailVerified"]?.boolValue,
                customClaims: fields["customClaims"].flatMap(Self.claims))
        }
    }

    /// Runs a function of `beforeUserSignedIn` for a user who signs in.
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - user: As it is stored.
    ///   - signInMethod: `password`, `emailLink`, `phone`, or an identity provider such as `google.com`.
    /// - Returns: What the function changes; nil for nothing.
    /// - Throws: `HttpsError` as the client would see it, if the function refuses.
    public func beforeUserSignedIn(
        _ name: String, user: UserRecord, signInMethod: String = "password"
    ) async throws -> BeforeSignInResponse? {
        let answer = try await block(name, at: .beforeSignIn, user: user, signInMethod: signInMethod)
        return answer.map { fields in
            BeforeSignInResponse(
                displayName: fields["displayName"]?.stringValue, photoURL: fields["photoUrl"]?.stringValue,
                disabled: fields["disabled"]?.boolValue, emailVerified: fields["emailVerified"]?.boolValue,
                customClaims: fields["customClaims"].flatMap(Self.claims),
                sessionClaims: fields["sessionClaims"].flatMap(Self.claims))
        }
    }

    /// Runs a function of `beforeEmailSent` for a mail that a client asks for.
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - email: The address.
    ///   - emailType: `PASSWORD_RESET` or `EMAIL_SIGN_IN`.
    /// - Throws: `HttpsError` as the client would see it, if the function refuses.
    public func beforeEmailSent(_ name: String, email: String, emailType: String = "PASSWORD_RESET") async throws {
        var event = event(.beforeSendEmail)
        event["email"] = .string(email)
        event["email_type"] = .string(emailType)
        _ = try await run(name, at: .beforeSendEmail, event)
    }

    private func block(
        _ name: String, at moment: TriggerManifest.BlockingTrigger.Moment, user: UserRecord, signInMethod: String
    ) async throws -> JSONValue? {
        var event = event(moment)
        event["sign_in_method"] = .string(signInMethod)
        event["user_record"] = .object(user.blockingRecord)
        return try await run(name, at: moment, event)
    }

    private func event(_ moment: TriggerManifest.BlockingTrigger.Moment) -> JSONObject {
        [
            "event_id": "test", "event_type": .string(moment.rawValue), "iat": .integer(now.seconds),
            "ip_address": "127.0.0.1", "locale": "en", "user_agent": "test",
        ]
    }

    private func run(
        _ name: String, at moment: TriggerManifest.BlockingTrigger.Moment, _ event: JSONObject
    ) async throws -> JSONValue? {
        guard let function = functions[name], function.trigger == .blocking(.init(moment: moment)) else {
            throw TestError("there is no function \"\(name)\" for \(moment.rawValue)")
        }
        let end = await perform(
            function, InvocationHead(), body: try JSONValue.object(event).serialized(), OperationContext())
        if let failure = end.failure { throw HttpsError(failure) }
        return try JSONValue(parsing: end.body)["userRecord"].flatMap { $0.isNull ? nil : $0 }
    }

    private static func claims(_ value: JSONValue) -> [String: JSONValue]? {
        value.objectValue.map { object in Dictionary(object.map { ($0.key, $0.value) }) { $1 } }
    }
}

extension UserRecord {
    /// The user as the host sends it.
    fileprivate var blockingRecord: JSONObject {
        var record: JSONObject = [
            "uid": .string(uid), "email_verified": .bool(emailVerified), "disabled": .bool(disabled),
            "custom_claims": .object(JSONObject(customClaims.map { ($0.key, $0.value) })),
            "provider_data": .array(providerData.map { .object($0.blockingRecord) }),
        ]
        record["email"] = email.map(JSONValue.string)
        record["display_name"] = displayName.map(JSONValue.string)
        record["photo_url"] = photoURL.map(JSONValue.string)
        record["phone_number"] = phoneNumber.map(JSONValue.string)
        var times: JSONObject = [:]
        times["creation_time"] = metadata.creationTime.map { .integer($0.microseconds / 1000) }
        times["last_sign_in_time"] = metadata.lastSignInTime.map { .integer($0.microseconds / 1000) }
        record["metadata"] = .object(times)
        return record
    }
}

extension UserInfo {
    fileprivate var blockingRecord: JSONObject {
        var record: JSONObject = ["provider_id": .string(providerID), "uid": .string(uid)]
        record["email"] = email.map(JSONValue.string)
        record["display_name"] = displayName.map(JSONValue.string)
        record["photo_url"] = photoURL.map(JSONValue.string)
        return record
    }
}
