import Crypto
import StrictJSON
package import TokenVerification

/// Issues App Check tokens to registered apps, as Google's service does: signed, so that they are verified like Google's.
package struct AppCheckIssuer: Sendable {
    /// An app that may have tokens.
    package struct App: Hashable, Sendable {
        /// The lifetime of its tokens in seconds.
        package var lifetime: Int64
        fileprivate var debugTokens: Set<[UInt8]>

        /// - Parameters:
        ///   - lifetime: in seconds.
        ///   - debugTokens: the texts that development builds exchange for tokens; only hashes of them are kept.
        package init(lifetime: Int64 = 3600, debugTokens: [String] = []) {
            self.lifetime = lifetime
            self.debugTokens = Set(debugTokens.map(Self.hash))
        }

        /// Hashes are compared, so that the time doesn't show how much of a text is right.
        func has(debugToken: String) -> Bool { debugTokens.contains(Self.hash(debugToken)) }

        private static func hash(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
    }

    /// The lifetime of a token for one use, in seconds.
    static let limitedLifetime: Int64 = 300

    let project: String
    /// The project's number; nil if it has none.
    let projectNumber: String?
    package let keys: SigningKeys
    private let apps: [String: App]

    package init(project: String, projectNumber: String?, keys: SigningKeys, apps: [String: App]) {
        self.project = project
        self.projectNumber = projectNumber
        self.keys = keys
        self.apps = apps
    }

    /// The ids of the apps. Tokens of others are no longer good, even if this host has signed them.
    package var appIDs: Set<String> { Set(apps.keys) }

    func app(_ id: String) -> App? { apps[id] }

    /// Whether a path names the project.
    func isNamed(_ name: String) -> Bool { name == project || name == projectNumber }

    /// - Parameters:
    ///   - lifetime: in seconds.
    ///   - provider: how the app has proved itself: `debug` or `custom`.
    ///   - now: Seconds since 1970.
    func token(for app: String, lifetime: Int64, provider: String, now: Int64) throws -> String {
        let projects = [projectNumber, project].compactMap { $0 }
        let claims: JSONObject = [
            "iss": .string("https://firebaseappcheck.googleapis.com/\(projects[0])"), "sub": .string(app),
            "aud": .array(projects.map { .string("projects/\($0)") }), "iat": .integer(now),
            "exp": .integer(now + lifetime), "jti": .string(Self.id()), "provider": .string(provider),
        ]
        return try keys.current.sign(claims: try JSONValue.object(claims).serialized())
    }

    /// 128 random bits.
    private static func id() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next(), radix: 36) + "-" + String(generator.next(), radix: 36)
    }
}
