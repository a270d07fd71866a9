import StrictJSON
import UserStore

extension IdentityToolkit {
    func perform(_ operation: SignInRoute.Operation, _ call: SignInCall) async throws -> JSONObject {
        if call["tenantId"] != nil { throw Self.noTenants }
        return switch operation {
        case .signUp: try await signUp(call)
        case .signInWithPassword: try await signInWithPassword(call)
        case .lookup: try await lookUp(call)
        case .signInWithIdp: try await signInWithProvider(call)
        case .update: try await update(call)
        case .signInWithCustomToken: try await signInWithCustomToken(call)
        case .delete: try await delete(call)
        case .signInWithEmailLink: try await signInWithEmailLink(call)
        case .sendOobCode: try await sendMailCode(call)
        case .signInWithPhoneNumber: try await signInWithPhoneNumber(call)
        case .createAuthUri: try await createAuthURI(call)
        case .resetPassword: try await resetPassword(call)
        case .sendVerificationCode: try await sendVerificationCode(call)
        case .revokeToken: try await revokeToken(call)
        // Of other errors the SDK of iOS tells apps that they are internal ones.
        case .signInWithGameCenter:
            throw IdentityToolkitError("OPERATION_NOT_ALLOWED : This host can't sign in with Game Center.")
        case .startEnrollment: try await startEnrollment(call)
        case .finishEnrollment: try await finishEnrollment(call)
        case .withdraw: try await withdraw(call)
        case .startSecondFactor: try await startSecondFactor(call)
        case .finishSecondFactor: try await finishSecondFactor(call)
        case .projects: projectConfig()
        case .recaptchaParams: recaptchaParams()
        case .recaptchaConfig: recaptchaConfig()
        case .passwordPolicy: configuration.passwordPolicy.json
        case .sessionCookiePublicKeys: publicKeys.webKeySet
        case .batchCreate: try await importUsers(call)
        case .batchDelete: try await deleteBatch(call)
        case .batchGet: try await listUsers(call)
        case .query: try await queryUsers(call)
        case .createSessionCookie: try await createSessionCookie(call)
        case .config: try await adminConfig()
        case .updateConfig: try await updateAdminConfig(call)
        }
    }

    func perform(_ action: SignInRoute.ProviderAction, on id: String, _ call: SignInCall) async throws -> JSONObject {
        switch action {
        case .create: try await providers.create(call, project: project)
        case .list: try await providers.list(call, project: project)
        case .get: try await providers.get(id, project: project)
        case .update: try await providers.update(id, call, project: project)
        case .delete: try await providers.delete(id)
        }
    }

    func perform(_ helper: SignInRoute.Helper, _ call: SignInCall) async throws -> JSONObject {
        switch helper {
        case .deleteUsers: try await deleteAllUsers()
        case .mailCodes: try await listMailCodes()
        case .phoneCodes: try await listPhoneCodes()
        case .config: try await users.read { try self.settings($0) }.json
        case .updateConfig: try await updateSettings(call).json
        }
    }

    static let noTenants = IdentityToolkitError(
        "OPERATION_NOT_ALLOWED : ((This host has no tenants: all users belong to the project.))")
    static let noSAML = IdentityToolkitError(
        "OPERATION_NOT_ALLOWED : ((This host has no sign-in by SAML: use OpenID Connect.))")
}
