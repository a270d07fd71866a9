import DocumentModel
package import StorageEngine

/// The result of checking kept answers and deliveries.
package struct CommitCheckResult: Hashable, Sendable {
    package fileprivate(set) var completions = 0
    package fileprivate(set) var deliveries = 0
    package fileprivate(set) var events = 0
    package fileprivate(set) var problems = 0
    /// Whether there are problems that ``Outbox/repair()`` can repair.
    package fileprivate(set) var isOutboxRepairable = false
}

/// Checks the pipeline's own data in one state: the kept answers, the deliveries and their events.
package struct CommitCheck {
    private let storage: any StorageReader
    private let version: Int64
    private let report: (String) throws -> Void
    private var result = CommitCheckResult()

    /// - Parameter report: called with each problem.
    package init(_ storage: any StorageReader, version: Int64, report: @escaping (String) throws -> Void) {
        self.storage = storage
        self.version = version
        self.report = report
    }

    /// - Throws: `StorageError`, or what `report` throws.
    package mutating func run() throws -> CommitCheckResult {
        try checkCompletions()
        try checkOutbox()
        return result
    }

    private mutating func note(_ problem: String) throws {
        result.problems += 1
        try report(problem)
    }

    private mutating func checkCompletions() throws {
        var check = self
        try storage.scan(.completions, KeyRange(prefix: [1]), reverse: false) { key, value in
            check.result.completions += 1
            do {
                let record = try CompletionRecord.decode(value)
                if try check.storage.get(.completions, CompletionRecord.expiryKey(record.expires, key)) == nil {
                    try check.note("a kept answer would never be removed")
                }
            } catch let error as DecodingFailure {
                try check.note("a kept answer can't be read: \(error.reason)")
            }
            return true
        }
        self = check
        let expiries = try storage.count(.completions, KeyRange(lower: [2], upper: nil))
        if expiries != result.completions {
            try note("there are \(result.completions) kept answers and \(expiries) expiries of kept answers")
        }
    }

    private mutating func checkOutbox() throws {
        let audit = OutboxAudit(storage: storage, now: Timestamp(microseconds: version))
        var check = self
        func take(_ findings: [OutboxFinding]) throws {
            for finding in findings {
                if !finding.repairs.isEmpty { check.result.isOutboxRepairable = true }
                try check.note(finding.problem)
            }
        }
        try storage.scan(.deliveries, .all, reverse: false) { key, row in
            if key.first == 1 || key.first == 3 { check.result.deliveries += 1 }
            try take(try audit.findings(key, row))
            return true
        }
        try storage.scan(.events, .all, reverse: false) { key, row in
            check.result.events += 1
            try take(try audit.findings(ofEvent: key, row))
            return true
        }
        self = check
    }
}
