import NIOPosix
import Sharing
import Synchronization
import UserStore

/// Hashes passwords on threads of its own, a few at a time, in turn by address: a flood of sign-ins from one address
/// delays those of another by one hash.
package final class PasswordHasher: Sendable {
    private struct State {
        var running = 0
        var waiting: FairQueue<String, CheckedContinuation<Void, Never>>
    }

    private let pool: NIOThreadPool
    private let threads: Int
    private let scheme: PasswordScheme
    private let state: Mutex<State>

    static let hashBytes = 32
    private static let saltBytes = 16

    /// - Parameters:
    ///   - cost: N of scrypt: a power of two. A hash takes 1 KiB of memory for each.
    ///   - threads: how many hashes are computed at the same time.
    ///   - places: how many may wait; nil for 100 for each thread.
    package init(cost: Int = 1 << 15, threads: Int = 1, places: Int? = nil) {
        scheme = .scrypt(cost: cost, blockSize: 8, parallelism: 1)
        self.threads = threads
        pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
        state = Mutex(State(waiting: FairQueue(places: places ?? 100 * threads)))
    }

    /// Ends the threads, once the hashes that are being computed are done.
    package func close() async { try? await pool.shutdownGracefully() }

    /// Hashes a new password.
    ///
    /// - Parameter address: whose turn it waits for.
    /// - Throws: an ``IdentityToolkitError`` if too many are waiting.
    func hash(_ password: String, for address: String) async throws -> PasswordHash {
        try await run(for: address) { [scheme] in
            let salt = Secrets.bytes(Self.saltBytes)
            let empty = [UInt8](repeating: 0, count: Self.hashBytes)
            return PasswordHash(scheme: scheme, hash: try scheme.hash(password, salt: salt, like: empty), salt: salt)
        }
    }

    /// Whether a password is the hashed one.
    ///
    /// - Parameter hash: nil for a user without a password: takes as long, and is false.
    func verify(_ password: String, _ hash: PasswordHash?, for address: String) async throws -> Bool {
        let decoy = PasswordHash(
            scheme: scheme, hash: [UInt8](repeating: 0, count: Self.hashBytes), salt: Array("decoy".utf8))
        return try await run(for: address) { (hash ?? decoy).matches(password) && hash != nil }
    }

    /// Whether a hash was made as new ones are; others are replaced at the next sign-in.
    func isCurrent(_ hash: PasswordHash) -> Bool { hash.scheme == scheme }

    private func run<Result: Sendable>(
        for address: String, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let mustWait = state.withLock { state in
            guard state.running < threads else { return true }
            state.running += 1
            return false
        }
        if mustWait { try await wait(for: address) }
        defer { end() }
        return try await pool.runIfActive(body)
    }

    private func wait(for address: String) async throws {
        var isTaken = true
        await withCheckedContinuation { continuation in
            let mayStart = state.withLock { state in
                if state.running < threads {
                    state.running += 1
                    return true
                }
                isTaken = state.waiting.append(continuation, of: address)
                return !isTaken
            }
            if mayStart { continuation.resume() }
        }
        guard isTaken else { throw IdentityToolkitError.unavailable }
    }

    private func end() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.running -= 1 }
            return next
        }
        next?.resume()
    }
}
