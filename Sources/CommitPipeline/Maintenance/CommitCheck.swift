import DocumentModel
import StorageEngine

/// The result of checking a pipeline's data.
package struct CommitCheckResult: Sendable {
    /// The results of the kinds of data, which they read themselves.
    package fileprivate(set) var kinds: [any Sendable] = []
    package fileprivate(set) var changes = 0
    package fileprivate(set) var completions = 0
    package fileprivate(set) var deliveries = 0
    package fileprivate(set) var events = 0
    /// The number of all problems, those of the kinds among them.
    package fileprivate(set) var problems = 0
    /// Whether there are problems that ``Outbox/repair()`` can repair.
    package fileprivate(set) var isOutboxRepairable = false
    /// Whether the engine can't read all. Then nothing may be repaired: what is removed to be recreated might not be, and
    /// what seems to be missing may be there.
    package fileprivate(set) var hasEngineDamage = false
}

/// Checks the kinds' data in one state, and the pipeline's own: the change log, the kept answers, the deliveries and
/// their events.
struct CommitCheck {
    private let run: CheckRun
    private var result = CommitCheckResult()

    init(_ run: CheckRun) { self.run = run }

    /// - Throws: `StorageError`, or what the run's functions throw.
    mutating func check(_ kinds: [any DataKind]) throws -> CommitCheckResult {
        for kind in kinds {
            if let found = try kind.check(run) { result.kinds.append(found) }
        }
        try run.part("the change log") { try checkChanges(of: Set(kinds.map { type(of: $0).id })) }
        try run.part("the kept answers") { try checkCompletions() }
        try run.part("the deliveries") { try checkDeliveries() }
        try run.part("the events") { try checkEvents() }
        result.problems = run.problems
        result.hasEngineDamage = run.isCutOff
        return result
    }

    static func run(
        on engine: any StorageEngine, _ kinds: [any DataKind], until cancellation: BlockingWork.Cancellation,
        report: (String) throws -> Void, progress: (WorkProgress) throws -> Void
    ) throws -> CommitCheckResult {
        var damages = 0
        func note(_ finding: String) throws {
            damages += 1
            try report("the file is damaged: \(finding)")
        }
        if let engine = engine as? any EmbeddedEngine {
            do {
                try engine.findDamage(until: cancellation) { finding in
                    try note(finding)
                    return true
                }
            } catch let error as StorageError where error.kind == .damaged {
                // What the engine has open may be read nevertheless.
                try note(error.message)
            }
        }
        var result = try withoutActuallyEscaping(report) { report in
            try withoutActuallyEscaping(progress) { progress in
                try engine.makeReadSession().read { storage in
                    var check = CommitCheck(try CheckRun(storage, report: report, progress: progress))
                    return try check.check(kinds)
                }
            }
        }
        result.problems += damages
        if damages > 0 { result.hasEngineDamage = true }
        return result
    }

    private var storage: any StorageReader { run.storage }

    private func note(_ problem: String) throws { try run.note(problem) }

    /// Whether each row can be read is checked here, and by its kind whether the content is right.
    private mutating func checkChanges(of kinds: Set<UInt8>) throws {
        let bounds = try HistoryBounds.read(storage)
        let floor = bounds?.floor ?? run.version
        var check = self
        defer { self = check }
        var bytes = 0
        try storage.scan(.changes, .all, reverse: false) { key, value in
            check.result.changes += 1
            do {
                let key = try ChangeLog.Key(key)
                bytes += key.size
                guard key.size == key.bytes.count + value.count else { throw DecodingFailure("its size is another") }
                guard (floor...max(floor, check.run.version)).contains(key.version) else {
                    throw DecodingFailure("its version \(key.version) is outside of the log's")
                }
                guard kinds.contains(key.kind) else { throw DecodingFailure("no data has the kind \(key.kind)") }
                _ = try ChangeLog.images(value)
            } catch let error as DecodingFailure {
                try check.note("a row of the change log is wrong: \(error.reason)")
            }
            return true
        }
        if let bounds, bounds.bytes != bytes {
            try note("the change log has \(bytes) bytes, and the store counted \(bounds.bytes)")
        }
    }

    private mutating func checkCompletions() throws {
        var check = self
        defer { self = check }
        try storage.scan(.completions, KeyRange(prefix: [1]), reverse: false) { key, value in
            check.result.completions += 1
            do {
                let record = try CompletionRecord.decode(value)
                if try check.storage.get(.completions, CompletionRecord.expiries.key(record.expires, of: key)) == nil {
                    try check.note("a kept answer would never be removed")
                }
            } catch let error as DecodingFailure {
                try check.note("a kept answer can't be read: \(error.reason)")
            }
            return true
        }
        let expiries = try storage.count(.completions, KeyRange(lower: [2], upper: nil))
        if expiries != check.result.completions {
            try note("there are \(check.result.completions) kept answers and \(expiries) expiries of kept answers")
        }
    }

    private var audit: OutboxAudit { OutboxAudit(storage: storage, now: Timestamp(microseconds: run.version)) }

    private mutating func take(_ findings: [OutboxFinding]) throws {
        for finding in findings {
            if !finding.repairs.isEmpty { result.isOutboxRepairable = true }
            try note(finding.problem)
        }
    }

    private mutating func checkDeliveries() throws {
        let audit = audit
        var check = self
        defer { self = check }
        try storage.scan(.deliveries, .all, reverse: false) { key, row in
            if key.first == 1 || key.first == 3 { check.result.deliveries += 1 }
            try check.take(try audit.findings(key, row))
            return true
        }
    }

    private mutating func checkEvents() throws {
        let audit = audit
        var check = self
        defer { self = check }
        try storage.scan(.events, .all, reverse: false) { key, row in
            check.result.events += 1
            try check.take(try audit.findings(ofEvent: key, row))
            return true
        }
    }
}
