import StorageEngine
package import DocumentModel

extension DocumentStore {
    private static let rowsPerStep = 1000
    /// What one step puts right may show what was wrong with another row.
    private static let maxPasses = 4

    /// Puts right what a check finds wrong with deliveries and events, as far as that follows from other rows, in steps
    /// between commits. What somebody works on is left for later.
    ///
    /// - Returns: how much there was.
    /// - Throws: where the store can't commit; what was put right until then stays so.
    @discardableResult
    package func repairOutbox() async throws(DocumentError) -> Int {
        var all = 0
        for _ in 0..<Self.maxPasses {
            var count = 0
            for table in [StorageTable.deliveries, .events] { count += try await repairOutbox(table) }
            guard count > 0 else { break }
            all += count
        }
        return all
    }

    private func repairOutbox(_ table: StorageTable) async throws(DocumentError) -> Int {
        var count = 0
        var next: [UInt8]? = []
        while let start = next {
            let step = try await wrongRows(of: table, from: start)
            if !step.wrong.isEmpty { count += try await work(.mend(table, step.wrong)) }
            next = step.next
        }
        return count
    }

    private func wrongRows(
        of table: StorageTable, from start: [UInt8]
    ) async throws(DocumentError) -> (wrong: [[UInt8]], next: [UInt8]?) {
        let now = now()
        return try await view { view in
            let audit = OutboxAudit(storage: view.storage, now: now)
            var step: (wrong: [[UInt8]], next: [UInt8]?) = ([], nil)
            var rows = 0
            try view.storage.scan(table, KeyRange(lower: start, upper: nil), reverse: false) { key, row in
                guard rows < Self.rowsPerStep else {
                    step.next = key
                    return false
                }
                rows += 1
                let findings = try table == .events ? audit.findings(ofEvent: key, row) : audit.findings(key, row)
                if findings.contains(where: { !$0.mends.isEmpty }) { step.wrong.append(key) }
                return true
            }
            return step
        }
    }
}
