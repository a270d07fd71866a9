import DocumentModel
public import FunctionsRuntime
import NIOCore
import Synchronization
import WorkerProtocol

/// A signed-in user, as a test makes one up.
public struct TestCaller: Sendable {
    public var uid: String
    /// Further claims of the token, and others in place of those that every token has.
    public var claims: [String: JSONValue]

    /// - Parameter uid: 1 to 128 characters.
    public static func user(_ uid: String, claims: [String: JSONValue] = [:]) -> TestCaller {
        TestCaller(uid: uid, claims: claims)
    }

    /// What a host hands over once it has verified the user's token.
    ///
    /// - Throws: ``TestError`` where no token could speak of such a user.
    func identity(project: String, at now: Timestamp) throws -> InvocationHead.VerifiedIdentity {
        guard (1...128).contains(uid.count) else {
            throw TestError("a user's id has 1 to 128 characters, and \"\(uid)\" has \(uid.count)")
        }
        let issued = JSONValue.integer(now.seconds)
        var all: [String: JSONValue] = [
            "iss": .string("https://securetoken.google.com/\(project)"), "aud": .string(project),
            "auth_time": issued, "iat": issued, "exp": .integer(now.seconds + 3600),
            "sub": .string(uid), "user_id": .string(uid),
            "firebase": ["identities": [:], "sign_in_provider": "custom"],
        ]
        all.merge(claims) { _, own in own }
        return .init(id: uid, claims: try all.asJSON())
    }
}

/// An app with a valid App Check token, as a test makes one up.
public struct TestApp: Sendable {
    public var appID: String
    /// Further claims of the token.
    public var claims: [String: JSONValue]
    /// Tells tokens apart, for functions that use them up: calls with the same text send the same token. Nil for a new
    /// token with each call.
    public var token: String?

    public static func app(
        _ appID: String, token: String? = nil, claims: [String: JSONValue] = [:]
    ) -> TestApp {
        TestApp(appID: appID, claims: claims, token: token)
    }

    func identity(project: String, at now: Timestamp) throws -> InvocationHead.VerifiedIdentity {
        var all: [String: JSONValue] = [
            "iss": .string("https://firebaseappcheck.googleapis.com/\(project)"),
            "aud": .array([.string("projects/\(project)")]), "sub": .string(appID),
            "iat": .integer(now.seconds), "exp": .integer(now.seconds + 3600),
        ]
        all.merge(claims) { _, own in own }
        return .init(id: appID, claims: try all.asJSON())
    }
}

extension [String: JSONValue] {
    fileprivate func asJSON() throws -> ByteBuffer {
        ByteBuffer(bytes: try JSONValue.object(JSONObject(map { ($0.key, $0.value) })).serialized())
    }
}

/// The App Check tokens that calls have used up.
final class TestTokens: Sendable {
    private let used = Mutex<Set<String>>([])

    /// - Returns: whether it was used up before.
    func consume(_ token: String) -> Bool { used.withLock { !$0.insert(token).inserted } }
}
