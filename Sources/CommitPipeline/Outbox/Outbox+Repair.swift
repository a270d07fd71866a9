import StorageEngine
package import DocumentModel

extension Outbox {
    private static let rowsPerStep = 1000
    /// Several passes, because repairing one row may reveal a problem with another.
    private static let maxPasses = 4

    /// Repairs the problems that a check finds with deliveries and events, as far as the right content follows from
    /// other rows. It works in steps between commits, and leaves leased deliveries unchanged.
    ///
    /// - Returns: the number of repairs.
    /// - Throws: if the store can't commit; repairs made before that are kept.
    @discardableResult
    package func repair() async throws(DocumentError) -> Int {
        var all = 0
        for _ in 0..<Self.maxPasses {
            var count = 0
            for table in [StorageTable.deliveries, .events] { count += try await repair(table) }
            guard count > 0 else { break }
            all += count
        }
        return all
    }

    private func repair(_ table: StorageTable) async throws(DocumentError) -> Int {
        var count = 0
        var next: [UInt8]? = []
        while let start = next {
            let step = try await wrongRows(of: table, from: start)
            if !step.wrong.isEmpty { count += try await perform(.repair(table, step.wrong)) }
            next = step.next
        }
        return count
    }

    private func wrongRows(
        of table: StorageTable, from start: [UInt8]
    ) async throws(DocumentError) -> (wrong: [[UInt8]], next: [UInt8]?) {
        let now = now()
        return try await read { storage in
            let audit = OutboxAudit(storage: storage, now: now)
            var step: (wrong: [[UInt8]], next: [UInt8]?) = ([], nil)
            var rows = 0
            try storage.scan(table, KeyRange(lower: start, upper: nil), reverse: false) { key, row in
                guard rows < Self.rowsPerStep else {
                    step.next = key
                    return false
                }
                rows += 1
                let findings = try table == .events ? audit.findings(ofEvent: key, row) : audit.findings(key, row)
                if findings.contains(where: { !$0.repairs.isEmpty }) { step.wrong.append(key) }
                return true
            }
            return step
        }
    }
}
