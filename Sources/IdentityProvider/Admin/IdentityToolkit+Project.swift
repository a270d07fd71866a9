import DocumentModel
import StrictJSON
import UserStore

extension IdentityToolkit {
    // MARK: Session cookies

    private static let cookieLifetimes: ClosedRange<Int64> = 300...1_209_600

    /// Exchanges an ID token for a cookie with the same claims, which lasts longer.
    func createSessionCookie(_ call: SignInCall) async throws -> JSONObject {
        let token = try require(call["idToken"], "MISSING_ID_TOKEN")
        let lifetime = call.fields.integer("validDuration") ?? Self.cookieLifetimes.upperBound
        try require(Self.cookieLifetimes.contains(lifetime), "INVALID_DURATION")
        let caller = try caller(token)
        _ = try await users.read { try self.user(of: caller, in: $0) }
        return [
            "sessionCookie": .string(
                try issuer.sessionCookie(with: caller.claims, lifetime: lifetime, now: now()))
        ]
    }

    // MARK: What clients ask before a sign-in

    func projectConfig() -> JSONObject {
        [
            "kind": "identitytoolkit#GetProjectConfigResponse",
            "projectId": .string(configuration.projectNumber ?? project),
            "authorizedDomains": .array((["localhost"] + configuration.authorizedDomains).map(JSONValue.string)),
        ]
    }

    /// Clients of such a host don't send these to the recaptcha service.
    func recaptchaParams() -> JSONObject {
        [
            "kind": "identitytoolkit#GetRecaptchaParamResponse", "recaptchaStoken": "not-used-by-this-host",
            "recaptchaSiteKey": "not-used-by-this-host",
        ]
    }

    /// No provider is enforced or audited: this host uses no recaptcha.
    func recaptchaConfig() -> JSONObject { ["recaptchaKey": "", "recaptchaEnforcementState": []] }

    /// Clients revoke Apple's tokens here. This host has no secret of Apple's to pass them on with.
    func revokeToken(_ call: SignInCall) async throws -> JSONObject {
        let caller = try caller(call["idToken"])
        _ = try await users.read { try self.user(of: caller, in: $0) }
        return [:]
    }

    // MARK: Settings

    func adminConfig() async throws -> JSONObject {
        let settings = try await users.read { try self.settings($0) }
        return adminConfig(settings)
    }

    func updateAdminConfig(_ call: SignInCall) async throws -> JSONObject {
        let mask = call.query["updateMask"].map { $0.split(separator: ",").map(String.init) }
        if mask?.contains(where: { $0.hasPrefix("blockingFunctions") }) ?? call.fields.has("blockingFunctions") {
            throw IdentityToolkitError(
                "INVALID_BLOCKING_FUNCTION : ((Blocking functions are those of the deployed bundles.))")
        }
        return adminConfig(try await updateSettings(call, mask: mask))
    }

    func updateSettings(_ call: SignInCall, mask: [String]? = nil) async throws -> ProjectSettings {
        let fields = call.fields
        return try await users.commit { transaction in
            var settings = try self.settings(transaction)
            settings.update(from: fields, mask: mask)
            try settings.store(in: transaction)
            return settings
        }
    }

    private func adminConfig(_ settings: ProjectSettings) -> JSONObject {
        var config = settings.json
        config["name"] = .string("projects/\(project)/config")
        config["authorizedDomains"] = projectConfig()["authorizedDomains"]
        let apps: JSONObject = ["adjacentIntervals": .integer(Authenticator.adjacentPeriods)]
        config["mfa"] = [
            "state": "ENABLED", "enabledProviders": .array(codes.takesTexts ? ["PHONE_SMS"] : []),
            // Authenticator apps aren't among the providers.
            "providerConfigs": [["state": "ENABLED", "totpProviderConfig": .object(apps)]],
        ]
        return config
    }

    // MARK: What only development has

    func listMailCodes() async throws -> JSONObject {
        let codes = try await users.read { try $0.listedCodes(at: now()) }
        let list = codes.compactMap { code -> JSONValue? in
            guard case .mail(let action) = code.purpose, let text = code.text else { return nil }
            var entry: JSONObject = [
                "email": .string(action.email), "requestType": .string(action.kind.rawValue), "oobCode": .string(text),
            ]
            entry["oobLink"] = action.link.map(JSONValue.string)
            entry["newEmail"] = action.newEmail.map(JSONValue.string)
            return .object(entry)
        }
        return ["oobCodes": .array(list)]
    }

    func listPhoneCodes() async throws -> JSONObject {
        let codes = try await users.read { try $0.listedCodes(at: now()) }
        let list = codes.compactMap { code -> JSONValue? in
            guard case .phone(let challenge) = code.purpose, let session = code.text, let digits = challenge.code else {
                return nil
            }
            return [
                "phoneNumber": .string(challenge.phoneNumber), "sessionInfo": .string(session),
                "code": .string(digits),
            ]
        }
        return ["verificationCodes": .array(list)]
    }

    /// Deletes all users, some at a time.
    func deleteAllUsers() async throws -> JSONObject {
        var last: String?
        while true {
            // Behind those who can't be read, which stay.
            let uids = try await listed(after: last, limit: Self.changedAtOnce).map(\.uid)
            guard !uids.isEmpty else { return [:] }
            last = uids.last
            try await users.commit(in: OperationContext(firesEvents: false)) { transaction in
                for uid in uids { try transaction.delete(uid) }
            }
        }
    }
}
