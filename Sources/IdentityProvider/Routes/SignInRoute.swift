/// What a request asks for: its method and path, read.
enum SignInRoute: Hashable, Sendable {
    /// An operation of Identity Toolkit; the project is nil on clients' paths, which have none.
    case operation(Operation, project: String?)
    /// `securetoken.googleapis.com`: ID tokens for refresh tokens.
    case token
    /// The keys that tokens are signed with.
    case certificates
    case webKeys
    /// Helpers of the emulator.
    case helper(Helper, project: String)
    case page(Page)
    /// The providers that admins add; nil for all of them.
    case providers(ProviderAction, id: String?, project: String)
    /// Anything of tenants, which this host doesn't have.
    case tenant
    /// Anything of providers by SAML, which this host doesn't have.
    case saml

    enum Operation: String, Hashable, Sendable, CaseIterable {
        case signUp, signInWithPassword, lookup, signInWithIdp, update, signInWithCustomToken, delete
        case signInWithEmailLink, sendOobCode, signInWithPhoneNumber, createAuthUri, resetPassword
        case sendVerificationCode, revokeToken, signInWithGameCenter
        case startEnrollment, finishEnrollment, withdraw, startSecondFactor, finishSecondFactor
        case projects, recaptchaParams, recaptchaConfig, passwordPolicy, sessionCookiePublicKeys
        case batchCreate, batchDelete, batchGet, query, createSessionCookie, config, updateConfig

        /// Whether only admins may call it.
        var isForAdmins: Bool {
            switch self {
            case .batchCreate, .batchDelete, .batchGet, .query, .createSessionCookie, .config, .updateConfig: true
            default: false
            }
        }
    }

    enum Helper: Hashable, Sendable {
        case deleteUsers, mailCodes, phoneCodes, config, updateConfig
    }

    enum ProviderAction: Hashable, Sendable {
        case create, get, list, update, delete
    }

    enum Page: Hashable, Sendable {
        case action, handler, iframe
    }

    /// Whether clients ask for it with the tokens of a user who is signed in, such as when a page is loaded.
    var isForSession: Bool {
        switch self {
        case .token, .operation(.lookup, _): true
        default: false
        }
    }

    /// - Parameter method: in capitals.
    /// - Returns: nil if there is nothing with this method at this path.
    init?(method: String, path: String) {
        let segments = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        guard let first = segments.first else { return nil }
        let rest = Array(segments.dropFirst())
        let route: SignInRoute? =
            switch first {
            case "identitytoolkit.googleapis.com": Self.identityToolkit(method, rest)
            case "www.googleapis.com": Self.older(method, rest)
            case "securetoken.googleapis.com": method == "POST" && rest == ["v1", "token"] ? .token : nil
            case "emulator": Self.emulator(method, rest)
            case "robot": Self.certificates(method, segments)
            case ".well-known": method == "GET" && rest == ["jwks.json"] ? .webKeys : nil
            default: nil
            }
        guard let route else { return nil }
        self = route
    }

    private static func identityToolkit(_ method: String, _ path: [String]) -> SignInRoute? {
        guard let version = path.first, ["v1", "v2", "v2beta1"].contains(version) else { return nil }
        let rest = Array(path.dropFirst())
        let operation: Operation? =
            switch (method, rest) {
            case ("POST", ["accounts", "mfaEnrollment:start"]): .startEnrollment
            case ("POST", ["accounts", "mfaEnrollment:finalize"]): .finishEnrollment
            case ("POST", ["accounts", "mfaEnrollment:withdraw"]): .withdraw
            case ("POST", ["accounts", "mfaSignIn:start"]): .startSecondFactor
            case ("POST", ["accounts", "mfaSignIn:finalize"]): .finishSecondFactor
            case ("GET", ["projects"]): .projects
            case ("GET", ["recaptchaParams"]): .recaptchaParams
            case ("GET", ["recaptchaConfig"]): .recaptchaConfig
            case ("GET", ["passwordPolicy"]): .passwordPolicy
            case ("GET", ["sessionCookiePublicKeys"]): .sessionCookiePublicKeys
            default: nil
            }
        if let operation { return .operation(operation, project: nil) }
        if rest.count == 1, method == "POST", let name = suffix(rest[0], of: "accounts:") {
            return accounts[name].map { .operation($0, project: nil) }
        }
        guard rest.count >= 2, rest[0] == "projects" else { return nil }
        return ofProject(method, Array(rest.dropFirst()))
    }

    /// - Parameter path: what is after `projects`.
    private static func ofProject(_ method: String, _ path: [String]) -> SignInRoute? {
        // Firebase's library for .NET sends `projects/P/:createSessionCookie`.
        if path.count == 2, path[1].hasPrefix(":") { return ofProject(method, [path[0] + path[1]]) }
        if path.count == 1, method == "POST", let (project, name) = custom(path[0]) {
            switch name {
            case "createSessionCookie": return .operation(.createSessionCookie, project: project)
            case "queryAccounts": return .operation(.query, project: project)
            default: return nil
            }
        }
        guard path.count >= 2 else { return nil }
        let project = path[0]
        if path[1] == "tenants" || path[1].hasPrefix("tenants:") { return .tenant }
        if path[1] == "inboundSamlConfigs" { return .saml }
        if path[1] == "oauthIdpConfigs", path.count <= 3 {
            let id = path.count == 3 ? path[2] : nil
            let action: ProviderAction? =
                switch (method, id != nil) {
                case ("POST", false): .create
                case ("GET", false): .list
                case ("GET", true): .get
                case ("PATCH", true): .update
                case ("DELETE", true): .delete
                default: nil
                }
            return action.map { .providers($0, id: id, project: project) }
        }
        guard path.count == 2 else { return nil }
        switch (method, path[1]) {
        case ("POST", "accounts"): return .operation(.signUp, project: project)
        case ("GET", "accounts:batchGet"): return .operation(.batchGet, project: project)
        case ("GET", "config"): return .operation(.config, project: project)
        case ("PATCH", "config"): return .operation(.updateConfig, project: project)
        case ("POST", let segment):
            return suffix(segment, of: "accounts:").flatMap { accountsOfProject[$0] ?? accounts[$0] }
                .map { .operation($0, project: project) }
        default: return nil
        }
    }

    private static func older(_ method: String, _ path: [String]) -> SignInRoute? {
        if path.first == "robot" { return certificates(method, path) }
        guard path.count == 4, path[..<3] == ["identitytoolkit", "v3", "relyingparty"] else { return nil }
        switch (method, path[3]) {
        case ("GET", "getProjectConfig"): return .operation(.projects, project: nil)
        case ("GET", "getRecaptchaParam"): return .operation(.recaptchaParams, project: nil)
        case ("GET", "publicKeys"): return .certificates
        case ("POST", let name): return olderNames[name].map { .operation($0, project: nil) }
        default: return nil
        }
    }

    private static func certificates(_ method: String, _ path: [String]) -> SignInRoute? {
        method == "GET"
            && path == ["robot", "v1", "metadata", "x509", "securetoken@system.gserviceaccount.com"]
            ? .certificates : nil
    }

    private static func emulator(_ method: String, _ path: [String]) -> SignInRoute? {
        switch (method, path) {
        case ("GET", ["action"]), ("POST", ["action"]): return .page(.action)
        case ("GET", ["auth", "handler"]), ("POST", ["auth", "handler"]): return .page(.handler)
        case ("GET", ["auth", "iframe"]): return .page(.iframe)
        default: break
        }
        guard path.count == 4, path[0] == "v1", path[1] == "projects" else { return nil }
        let helper: Helper? =
            switch (method, path[3]) {
            case ("DELETE", "accounts"): .deleteUsers
            case ("GET", "oobCodes"): .mailCodes
            case ("GET", "verificationCodes"): .phoneCodes
            case ("GET", "config"): .config
            case ("PATCH", "config"): .updateConfig
            default: nil
            }
        return helper.map { .helper($0, project: path[2]) }
    }

    /// What is after a prefix; nil if the text doesn't begin so.
    private static func suffix(_ text: String, of prefix: String) -> String? {
        text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }

    /// A project and the operation after its colon.
    private static func custom(_ segment: String) -> (project: String, name: String)? {
        guard let colon = segment.lastIndex(of: ":") else { return nil }
        return (String(segment[..<colon]), String(segment[segment.index(after: colon)...]))
    }

    /// The operations of `accounts:NAME`.
    private static let accounts = Dictionary(
        uniqueKeysWithValues: [
            Operation.signUp, .signInWithPassword, .lookup, .signInWithIdp, .update, .signInWithCustomToken, .delete,
            .signInWithEmailLink, .sendOobCode, .signInWithPhoneNumber, .createAuthUri, .resetPassword,
            .sendVerificationCode, .revokeToken, .signInWithGameCenter,
        ].map { ($0.rawValue, $0) })

    private static let accountsOfProject: [String: Operation] = [
        "batchCreate": .batchCreate, "batchDelete": .batchDelete, "query": .query,
    ]

    /// The names of the oldest version, which iOS sends.
    private static let olderNames: [String: Operation] = [
        "signupNewUser": .signUp, "verifyPassword": .signInWithPassword, "getAccountInfo": .lookup,
        "verifyAssertion": .signInWithIdp, "setAccountInfo": .update, "verifyCustomToken": .signInWithCustomToken,
        "deleteAccount": .delete, "emailLinkSignin": .signInWithEmailLink, "getOobConfirmationCode": .sendOobCode,
        "verifyPhoneNumber": .signInWithPhoneNumber, "createAuthUri": .createAuthUri,
        "resetPassword": .resetPassword, "sendVerificationCode": .sendVerificationCode,
        "signInWithGameCenter": .signInWithGameCenter,
        "uploadAccount": .batchCreate, "downloadAccount": .batchGet,
    ]
}
