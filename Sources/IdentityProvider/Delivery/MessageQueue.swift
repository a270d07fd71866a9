import MailTransfer
import TokenVerification
import UserStore

/// The mails and text messages that wait in the store to be sent.
struct MessageQueue: Sendable {
    /// Seconds in which one message of a subject is sent.
    static let pauseOfSubject: Int64 = 60
    /// Seconds for which an attempt has the message. If the host is killed meanwhile, the next attempt waits for its end.
    static let leaseTime: Int64 = 60
    /// Seconds after which a message is given up, if its code hasn't expired before.
    static let longestWait: Int64 = 86_400
    private static let longestPause: Int64 = 3600
    private static let lookedAtOnce = 100

    let users: UserStore
    let maxWaiting: Int
    let now: WallClock
    /// Raised when a message was queued, or an attempt has ended.
    let wake = WakeSignal()

    // MARK: Queueing

    /// Counted for all messages together: this also limits what a client can have sent in the name of the project.
    ///
    /// - Throws: an ``IdentityToolkitError`` if too many messages are waiting.
    func requireRoom(in transaction: UserTransaction) throws {
        guard try transaction.waitingMessages() < maxWaiting else { throw IdentityToolkitError.tooManyMessages }
    }

    /// Whether a message of this subject was queued within the last minute.
    func hasRecent(_ subject: MessageSubject, in reader: some UserReader, now: Int64) throws -> Bool {
        guard let last = try reader.readableMessage(subject.hash) else { return false }
        // One from the future was queued before the clock was set back.
        return (0..<Self.pauseOfSubject).contains(now - last.createdAt / 1000)
    }

    /// Ends the pause after a mail that was sent: its code was used, so that a user who asks for another mail needs it.
    func endPause(of subject: MessageSubject, in transaction: UserTransaction) throws {
        guard let last = try transaction.readableMessage(subject.hash), last.content == nil else { return }
        try transaction.deleteMessage(subject.hash)
    }

    func append(
        _ content: OutgoingMessage.Content, of subject: MessageSubject, expires: Int64, in transaction: UserTransaction
    ) throws {
        try transaction.store(
            OutgoingMessage(
                id: Secrets.bytes(16), content, createdAt: transaction.milliseconds, expires: expires),
            subject: subject.hash)
    }

    // MARK: Sending

    /// A message that is being sent.
    struct Lease: Sendable {
        var subject: [UInt8]
        var message: OutgoingMessage
        var content: OutgoingMessage.Content
    }

    struct Step: Sendable {
        var leases: [Lease] = []
        /// Those that can't be sent in time.
        var givenUp: [OutgoingMessage] = []
        /// The number of those that are given up because they can't be read.
        var damaged = 0
        /// Whether anything has changed.
        var isChange = false
        /// When the next message is due, in seconds since 1970; nil if there is none.
        var next: Int64?
    }

    /// Leases messages that are due, durably, and deletes what is no longer needed.
    ///
    /// - Parameter limits: how many messages of each lane to lease; lanes without a number aren't looked at.
    /// - Throws: `DocumentError` if the store can't be read or changed.
    func take(_ limits: [OutgoingMessage.Lane: Int]) async throws -> Step {
        let next = try await users.read { try $0.nextMessageTime(Array(limits.keys)) }
        let time = now()
        guard let next, next <= time || next > Self.latest(at: time) else { return Step(next: next) }
        return try await users.commit { transaction in
            var step = Step()
            let time = transaction.seconds
            for (lane, limit) in limits {
                try Self.take(limit, of: lane, into: &step, at: time, in: transaction)
            }
            step.next = try transaction.nextMessageTime(Array(limits.keys))
            return step
        }
    }

    private static func take(
        _ limit: Int, of lane: OutgoingMessage.Lane, into step: inout Step, at time: Int64,
        in transaction: UserTransaction
    ) throws {
        var leased = 0
        let found = try transaction.dueMessages(lane, at: time, orAfter: latest(at: time), limit: lookedAtOnce)
        for (subject, due) in found {
            guard var message = try transaction.readableMessage(subject), message.lane == lane, message.due == due
            else {
                // Earlier versions had one lane.
                if try transaction.repairDue(subject, lane, at: due) { step.damaged += 1 }
                step.isChange = true
                continue
            }
            if let content = message.content {
                guard leased < limit else {
                    if due > time {
                        // One from before the clock was set back is due now: else it would come after those that
                        // wait to be retried.
                        message.due = time
                        try transaction.store(message, subject: subject)
                        step.isChange = true
                    }
                    continue
                }
                if end(of: message) <= time {
                    step.givenUp.append(message)
                    try settle(message, subject, in: transaction)
                } else {
                    message.attempts += 1
                    message.due = time + leaseTime
                    try transaction.store(message, subject: subject)
                    step.leases.append(Lease(subject: subject, message: message, content: content))
                    leased += 1
                }
            } else {
                try transaction.deleteMessage(subject)
            }
            step.isChange = true
        }
    }

    /// What follows an attempt.
    enum Sequel: Hashable, Sendable {
        case done
        /// - Parameter seconds: from now.
        case retry(seconds: Int64)
        case givenUp
        /// A newer message of the subject has taken its place.
        case replaced
    }

    /// Records the outcome of an attempt.
    ///
    /// - Throws: `DocumentError` if the store can't be changed: the message is attempted again when its lease ends.
    func finish(_ lease: Lease, _ outcome: TransferOutcome) async throws -> Sequel {
        try await users.commit { transaction in
            guard var message = try transaction.readableMessage(lease.subject), message.id == lease.message.id else {
                return .replaced
            }
            switch outcome {
            case .accepted:
                try Self.settle(message, lease.subject, in: transaction)
                return .done
            case .refused:
                try Self.settle(message, lease.subject, in: transaction)
                return .givenUp
            case .failed(_, let mayHaveArrived):
                let pause = Self.pause(after: message.attempts, mayHaveArrived: mayHaveArrived)
                guard transaction.seconds + pause < Self.end(of: message) else {
                    try Self.settle(message, lease.subject, in: transaction)
                    return .givenUp
                }
                message.due = transaction.seconds + pause
                try transaction.store(message, subject: lease.subject)
                return .retry(seconds: pause)
            }
        }
    }

    /// The latest time for which a message can wait. Those that wait for a later one are from before the clock was set
    /// back.
    private static func latest(at now: Int64) -> Int64 { now + longestPause + leaseTime }

    /// From when on a message isn't sent, in seconds since 1970.
    private static func end(of message: OutgoingMessage) -> Int64 {
        min(message.expires, message.createdAt / 1000 + longestWait)
    }

    /// - Parameter mayHaveArrived: then a retry waits a minute at least, as does another request.
    static func pause(after attempts: Int, mayHaveArrived: Bool) -> Int64 {
        let pause = min(longestPause, 5 << Int64(min(max(attempts - 1, 0), 10)))
        return mayHaveArrived ? max(pause, pauseOfSubject) : pause
    }

    private static func settle(
        _ message: OutgoingMessage, _ subject: [UInt8], in transaction: UserTransaction
    ) throws {
        var settled = message
        settled.content = nil
        settled.due = message.createdAt / 1000 + pauseOfSubject
        if settled.due <= transaction.seconds {
            try transaction.deleteMessage(subject)
        } else {
            try transaction.store(settled, subject: subject)
        }
    }
}

/// What no two messages within a minute may have in common.
struct MessageSubject: Hashable, Sendable {
    let hash: [UInt8]

    /// The same action for the same addresses.
    init(_ action: MailAction, isDecoy: Bool = false) {
        hash = Secrets.hash(
            "\(isDecoy ? "decoy" : "mail") \(action.kind.rawValue) \(action.email) \(action.newEmail ?? "")")
    }

    /// - Parameter address: the client's: the request of another client doesn't hold up its code.
    init(phoneNumber: String, from address: String) { hash = Secrets.hash("text \(phoneNumber) \(address)") }
}
