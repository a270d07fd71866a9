import DocumentModel
public import FunctionsRuntime
import NIOCore
import Synchronization
import WorkerProtocol

/// A caller for a test: a signed-in user, or an unauthenticated caller.
public struct TestCaller: Sendable {
    /// Nil for a caller who isn't signed in.
    public var uid: String?
    /// Additional claims of the token. They override the standard claims.
    public var claims: [String: JSONValue]

    /// - Parameters:
    ///   - uid: 1 to 128 characters.
    ///   - claims: Further claims of the token.
    public static func user(_ uid: String, claims: [String: JSONValue] = [:]) -> TestCaller {
        TestCaller(uid: uid, claims: claims)
    }

    /// A caller who isn't signed in.
    public static let nobody = TestCaller(uid: nil, claims: [:])

    /// The identity that a host passes on after verifying the user's token.
    ///
    /// - Throws: ``TestError`` if no token could have such a user id.
    func identity(project: String, at now: Timestamp) throws -> InvocationHead.VerifiedIdentity? {
        guard let uid else { return nil }
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

/// An app with a valid App Check token for a test.
public struct TestApp: Sendable {
    public var appID: String
    /// Additional claims of the token.
    public var claims: [String: JSONValue]
    /// Identifies the token, for functions that consume tokens: calls with the same string send the same token. Nil
    /// sends a new token with each call.
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

/// The App Check tokens that calls have consumed.
final class TestTokens: Sendable {
    private let used = Mutex<Set<String>>([])

    /// - Returns: Whether it was consumed before.
    func consume(_ token: String) -> Bool { used.withLock { !$0.insert(token).inserted } }
}

/// Refuses every operation of a caller that no token could be for.
struct ImpossibleCaller: AccessPolicy {
    let reason: String

    func check(_ access: Access, in view: AccessView) throws { throw DocumentError(.invalidArgument, reason) }
}
