import Logging
import ServiceLifecycle
import TokenVerification

/// Rotates the signing key when it has signed for long enough, and deletes the keys that are no longer needed.
struct KeyRotation: Service {
    private static let interval = Duration.seconds(3600)

    private let keys: SigningKeys
    /// Whose tokens they sign, for the log.
    private let tokens: String
    /// In seconds; nil to rotate by command alone.
    private let lifetime: Int64?
    private let logger: Logger

    init(_ keys: SigningKeys, of tokens: String, days: Int?, logger: Logger) {
        self.keys = keys
        self.tokens = tokens
        lifetime = days.map { Int64($0) * 86_400 }
        self.logger = logger
    }

    func run() async throws {
        step()
        for await _ in AsyncTimer(interval: Self.interval).cancelOnGracefulShutdown() { step() }
    }

    private func step() {
        do {
            if let lifetime, let key = try keys.rotate(after: lifetime) {
                logger.notice(
                    "tokens have a new signing key",
                    metadata: ["auth.key_id": "\(key.keyID)", "auth.tokens": "\(tokens)"])
            }
            try keys.removeOld()
        } catch {
            logger.error(
                "the signing key can't be rotated", metadata: ["error": "\(error)", "auth.tokens": "\(tokens)"])
        }
    }
}
