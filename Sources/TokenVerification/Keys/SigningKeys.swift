import DataDirectory
import Foundation
import Synchronization

/// The host's own signing keys, each in a file.
///
/// One signs. The next one is published long before it does, so that everyone who verifies tokens knows it by then, and the
/// former ones are published until all that they have signed has expired: a rotation logs no user out. Each step of it
/// leaves files with which the host starts.
package final class SigningKeys: Sendable {
    private struct State {
        var current: SigningKey
        var next: SigningKey
        var retired: [Retired] = []
    }

    private struct Retired {
        var key: SigningKey
        var file: String
        /// Seconds since 1970.
        var since: Int64
    }

    /// How long a key is published after its last signature, in seconds: session cookies last two weeks.
    package static let retention: Int64 = 15 * 86_400
    /// How long a key is published before it signs, in seconds. It must be longer than ``maxAge``.
    package static let notice: Int64 = 6 * 3600
    /// How long others may keep the published keys, in seconds.
    package static let maxAge: Int64 = 3600

    static let currentFile = "signing-key.pem"
    static let nextFile = "next-signing-key.pem"
    static let retiredPrefix = "retired-key-"

    private let directory: String
    private let now: WallClock
    private let state: Mutex<State>
    /// Held while files change. Signing doesn't wait for it.
    private let change = Mutex(())
    /// All keys that verify this host's tokens.
    package let verification = LocalKeys()

    /// Loads the keys, and makes those that are missing. Making one takes a few tenths of a second.
    ///
    /// - Parameter directory: Usually `<data>/auth`; created for its owner alone if it doesn't exist.
    /// - Throws: an error for the operator if a file is damaged, is readable by others, or can't be read or written. A
    ///   damaged key is never replaced automatically, because tokens signed with it would suddenly be refused.
    package init(in directory: String, now: @escaping WallClock = systemWallClock) throws {
        self.directory = directory
        self.now = now
        let current = try SigningKey.load(Self.currentFile, in: directory, now: now)
        var next = try SigningKey.load(Self.nextFile, in: directory, now: now)
        // A rotation ended before it made the following key.
        if next.keyID == current.keyID { next = try SigningKey.create(Self.nextFile, in: directory, now: now) }
        var retired: [Retired] = []
        for file in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() {
            guard file.hasPrefix(Self.retiredPrefix), file.hasSuffix(".pem"),
                let since = Int64(file.dropFirst(Self.retiredPrefix.count).prefix { $0 != "-" })
            else { continue }
            let key = try SigningKey.load(file, in: directory, now: now)
            guard key.keyID != current.keyID else {
                // A rotation ended before it replaced the current key.
                try FileBytes.remove(file, in: directory)
                continue
            }
            retired.append(Retired(key: key, file: file, since: since))
        }
        state = Mutex(State(current: current, next: next, retired: retired))
        publish()
    }

    /// Signs tokens.
    package var current: SigningKey { state.withLock { $0.current } }

    /// All keys by which tokens may have to be verified: the current one, the next one, and the former ones.
    package var published: [SigningKey] { state.withLock { [$0.current, $0.next] + $0.retired.map(\.key) } }

    /// When a file of a key was written, in seconds since 1970.
    private func changeTime(of file: String) -> Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: directory + "/" + file)
        return (attributes?[.modificationDate] as? Date).map { Int64($0.timeIntervalSince1970) } ?? now()
    }

    /// Lets the next key sign, if the current one has signed for long enough and the next one is known.
    ///
    /// - Parameter lifetime: how long a key signs, in seconds.
    /// - Returns: the key that signs from now on, or nil if nothing has changed.
    /// - Throws: an error for the operator. The current key goes on signing then.
    package func rotate(after lifetime: Int64) throws -> SigningKey? {
        try change.withLock { _ in
            let time = now()
            if lacksNext { try makeNext() }
            guard time >= changeTime(of: Self.currentFile) + lifetime,
                time >= changeTime(of: Self.nextFile) + Self.notice
            else { return nil }
            return try replaceCurrent(at: time)
        }
    }

    /// Lets the next key sign from now on.
    ///
    /// - Parameter early: whether it may sign before everyone knows it: who verifies tokens with kept keys then refuses
    ///   them for up to an hour.
    /// - Returns: the key that signs now.
    /// - Throws: an error for the operator. The current key goes on signing then.
    package func rotate(early: Bool) throws -> SigningKey {
        try change.withLock { _ in
            let time = now()
            if lacksNext { try makeNext() }
            let known = changeTime(of: Self.nextFile) + Self.notice
            guard early || time >= known else {
                let date = Date(timeIntervalSince1970: TimeInterval(known)).formatted(.iso8601)
                throw SigningKeyError(
                    """
                    the next key is too young: others may not know it yet, and would refuse its tokens; rotate after \
                    \(date), or now with --early
                    """)
            }
            return try replaceCurrent(at: time)
        }
    }

    /// Whether the last rotation couldn't make another key.
    private var lacksNext: Bool { state.withLock { $0.next.keyID == $0.current.keyID } }

    private func replaceCurrent(at time: Int64) throws -> SigningKey {
        let (current, next) = state.withLock { ($0.current, $0.next) }
        let file = "\(Self.retiredPrefix)\(time)-\(current.keyID.prefix(8)).pem"
        // First: users stay signed in with what the current key has signed.
        try FileBytes.replace(file, in: directory, with: current.pem)
        try FileBytes.replace(Self.currentFile, in: directory, with: next.pem)
        state.withLock { state in
            state.retired.append(Retired(key: current, file: file, since: time))
            state.current = next
        }
        publish()
        // The rotation has happened. Without another key, the next attempt makes one.
        try? makeNext()
        return next
    }

    private func makeNext() throws {
        let next = try SigningKey.create(Self.nextFile, in: directory, now: now)
        state.withLock { $0.next = next }
        publish()
    }

    /// Deletes keys whose signatures have all expired.
    ///
    /// - Throws: an error for the operator.
    package func removeOld() throws {
        try change.withLock { _ in
            let limit = now() - Self.retention
            let old = state.withLock { state in
                let old = state.retired.filter { $0.since <= limit }
                state.retired.removeAll { $0.since <= limit }
                return old
            }
            guard !old.isEmpty else { return }
            publish()
            for key in old { try FileBytes.remove(key.file, in: directory) }
        }
    }

    private func publish() {
        let keys = published
        verification.replace(with: KeySet(Dictionary(keys.map { ($0.keyID, $0.publicKey) }) { first, _ in first }))
    }
}
