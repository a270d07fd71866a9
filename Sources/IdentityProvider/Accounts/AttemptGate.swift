import Synchronization
import UserStore

/// Limits failed attempts to prove who one is, per account and per address: after some, each is followed by a pause twice
/// as long as the one before. What has failed is stored, so a restart shortens no pause.
final class AttemptGate: Sendable {
    /// Something that is attempted, with the failures that have no consequence.
    struct Subject: Hashable, Sendable {
        var name: String
        var allowance: Int
    }

    private static let longestPause: Int64 = 900

    private let perAccount: Int
    private let perAddress: Int?
    /// Attempts in progress count as failed ones: otherwise many at once would not be limited.
    private let inProgress = Mutex<[String: Int]>([:])

    /// - Parameter perAddress: nil for no limit.
    init(perAccount: Int, perAddress: Int?) {
        self.perAccount = perAccount
        self.perAddress = perAddress
    }

    /// - Parameter account: an email address, whether or not it has an account.
    func subjects(account: String, address: String) -> [Subject] {
        let account = Subject(name: "account " + account, allowance: perAccount)
        guard let perAddress else { return [account] }
        return [account, Subject(name: "address " + address, allowance: perAddress)]
    }

    /// - Returns: nil in development.
    func subject(address: String) -> Subject? {
        perAddress.map { Subject(name: "address " + address, allowance: $0) }
    }

    /// Messages that a client has sent; nil in development.
    func subject(sender address: String) -> Subject? {
        perAddress.map { Subject(name: "messages " + address, allowance: $0) }
    }

    /// Requests for mails about which a function was asked, whether or not a mail was sent then; nil in development.
    func subject(askingFrom address: String) -> Subject? {
        perAddress.map { Subject(name: "asking " + address, allowance: $0) }
    }

    /// Tokens and codes of identity providers that a client presents; nil in development.
    func subject(assertionsFrom address: String) -> Subject? {
        perAddress.map { Subject(name: "assertions " + address, allowance: $0) }
    }

    /// Codes for a phone number, by address: a stranger's mistakes don't hold up the number's owner.
    func subject(phoneNumber: String, address: String) -> Subject {
        Subject(name: "phone \(phoneNumber) \(address)", allowance: perAccount)
    }

    /// - Throws: an ``IdentityToolkitError`` during a pause.
    func check(_ subject: Subject, in reader: some UserReader, now: Int64) throws {
        guard let failed = try reader.attempts(subject.name)?.faded(at: now), failed.count >= subject.allowance else {
            return
        }
        try require(!Self.isPaused(subject, failed, at: now), IdentityToolkitError.tooManyAttempts.message)
    }

    /// - Parameter now: Seconds since 1970.
    /// - Throws: an ``IdentityToolkitError`` during a pause. If it doesn't, the attempt ends with ``end(_:)``.
    func begin(_ subjects: [Subject], in reader: some UserReader, now: Int64) throws {
        let failed = try subjects.map { try reader.attempts($0.name)?.faded(at: now) }
        let mayGoOn = inProgress.withLock { inProgress in
            for (subject, failed) in zip(subjects, failed) {
                let count = (failed?.count ?? 0) + inProgress[subject.name, default: 0]
                guard count >= subject.allowance else { continue }
                // Another attempt, in progress, would begin the pause.
                guard let failed, failed.count >= subject.allowance, inProgress[subject.name] == nil else {
                    return false
                }
                if Self.isPaused(subject, failed, at: now) { return false }
            }
            for subject in subjects { inProgress[subject.name, default: 0] += 1 }
            return true
        }
        guard mayGoOn else { throw IdentityToolkitError.tooManyAttempts }
    }

    func end(_ subjects: [Subject]) {
        inProgress.withLock { inProgress in
            for subject in subjects {
                let left = inProgress[subject.name, default: 1] - 1
                inProgress[subject.name] = left > 0 ? left : nil
            }
        }
    }

    func fail(_ subjects: [Subject], in transaction: UserTransaction) throws {
        for subject in subjects {
            var attempts =
                try transaction.attempts(subject.name)?.faded(at: transaction.seconds)
                ?? FailedAttempts(count: 0, lastAt: 0)
            attempts.count += 1
            attempts.lastAt = transaction.seconds
            transaction.setAttempts(attempts, of: subject.name)
        }
    }

    /// Forgets the failures of the account, not those of the address, which may try others.
    func succeed(_ subjects: [Subject], in transaction: UserTransaction) throws {
        guard let account = subjects.first, try transaction.attempts(account.name) != nil else { return }
        transaction.setAttempts(nil, of: account.name)
    }

    /// - Parameter failed: at least as many as are allowed.
    private static func isPaused(_ subject: Subject, _ failed: FailedAttempts, at now: Int64) -> Bool {
        // A failure in the future, from before the clock was set back, brings no pause until then.
        abs(now - failed.lastAt) < pause(after: failed.count - subject.allowance)
    }

    /// The pause in seconds.
    private static func pause(after excess: Int) -> Int64 { min(longestPause, 1 << min(excess, 20)) }
}
