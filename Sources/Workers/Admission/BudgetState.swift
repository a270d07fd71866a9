import DocumentModel

/// A function's use of today's budget, as a pure state machine.
package struct BudgetState: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case warn(Use)
        /// Start nothing more of the function today.
        case pause(Use)
        /// Resume: a new day has begun, or an invocation was returned.
        case resume
    }

    /// The used part of one bound.
    package struct Use: Equatable, Sendable {
        package enum Kind: String, Sendable {
            case invocations
            case computeSeconds
        }

        package var kind: Kind
        package var used: Int
        package var limit: Int
    }

    private enum Phase: UInt8 {
        case within = 0
        case warned = 1
        case over = 2
        /// The operator has resumed the function for the rest of the day.
        case lifted = 3
    }

    let budget: FunctionBudget
    private(set) var day: Int64
    private(set) var invocations = 0
    private(set) var microseconds: Int64 = 0
    private var phase = Phase.within
    /// Whether a pause was reported today: invocations that are returned may cause several.
    private var hasReportedPause = false

    init(_ budget: FunctionBudget, now: Timestamp) {
        self.budget = budget
        day = now.day
    }

    var isOver: Bool { phase == .over }

    /// Admits an invocation that is about to begin.
    ///
    /// - Returns: whether it may begin; then it counts.
    mutating func admit(now: Timestamp) -> (isAdmitted: Bool, actions: [Action]) {
        let actions = refresh(now: now)
        guard phase != .over else { return (false, actions) }
        if phase != .lifted, let limit = budget.invocationsPerDay, invocations >= limit {
            // The bound was lowered to what is used already.
            return (false, actions + settle())
        }
        invocations += 1
        return (true, actions + settle())
    }

    /// An admitted invocation hasn't begun after all. Warnings that it caused stay. A function that exceeded its budget
    /// only by this invocation is resumed. One that was admitted on an earlier day doesn't count today.
    mutating func refund(admittedAt time: Timestamp) -> [Action] {
        guard time.day == day else { return [] }
        invocations = max(0, invocations - 1)
        guard phase == .over, uses.allSatisfy({ $0.used < $0.limit }) else { return [] }
        phase = .warned
        return [.resume]
    }

    /// A handler has run for this time.
    mutating func spent(microseconds: Int64, now: Timestamp) -> [Action] {
        let actions = refresh(now: now)
        self.microseconds += microseconds
        return actions + settle()
    }

    /// Begins a new day if the date has changed.
    mutating func refresh(now: Timestamp) -> [Action] {
        // A clock that was set back doesn't grant the day's budget again, unless it showed a wrong day before.
        guard now.day > day || now.day < day - 1 else { return [] }
        let wasOver = isOver
        self = BudgetState(budget, now: now)
        return wasOver ? [.resume] : []
    }

    /// The operator resumes the function for the rest of the day.
    mutating func lift() { if phase == .over { phase = .lifted } }

    /// Whether a bound, or the share of it at which the operator is warned, is reached.
    private mutating func settle() -> [Action] {
        guard phase == .within || phase == .warned else { return [] }
        let uses = self.uses
        if let use = uses.first(where: { $0.used >= $0.limit }) {
            phase = .over
            defer { hasReportedPause = true }
            return hasReportedPause ? [] : [.pause(use)]
        }
        guard phase == .within,
            let use = uses.first(where: { Double($0.used) >= budget.warnAt * Double($0.limit) })
        else { return [] }
        phase = .warned
        return [.warn(use)]
    }

    private var uses: [Use] {
        var uses: [Use] = []
        if let limit = budget.invocationsPerDay {
            uses.append(Use(kind: .invocations, used: invocations, limit: limit))
        }
        if let limit = budget.computeSecondsPerDay {
            uses.append(Use(kind: .computeSeconds, used: Int(microseconds / 1_000_000), limit: limit))
        }
        return uses
    }
}

// MARK: As a record

extension BudgetState {
    private static let format: UInt8 = 1

    var record: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 24)
        writer.write(byte: Self.format)
        writer.write(signed: day)
        writer.write(count: invocations)
        writer.write(signed: microseconds)
        writer.write(byte: phase.rawValue)
        return writer.bytes
    }

    /// Restores what was used before the host's restart, under the current budget.
    ///
    /// - Throws: `DecodingFailure` for a record that this program didn't write.
    init(_ budget: FunctionBudget, record: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(record)
        guard try reader.byte() == Self.format else { throw DecodingFailure("a budget's record has an unknown format") }
        self.budget = budget
        day = try reader.signed()
        let invocations = try reader.varint()
        microseconds = try reader.signed()
        guard (-1_000_000...10_000_000).contains(day), invocations < 1 << 60, (0..<1 << 60).contains(microseconds)
        else {
            throw DecodingFailure("a budget's record has numbers that no day reaches")
        }
        self.invocations = Int(invocations)
        let phase = Phase(rawValue: try reader.byte())
        try reader.finish()
        // If the budget was raised since, it is no longer used up; if it was lowered, it may be.
        self.phase = phase == .lifted ? .lifted : .within
        if self.phase == .within, uses.contains(where: { $0.used >= $0.limit }) {
            self.phase = .over
        } else if phase != .lifted, phase != .within {
            self.phase = .warned
        }
        hasReportedPause = isOver
    }
}
