import CommitPipeline
package import StorageEngine

extension DocumentStore {
    /// Looks through one state of the store: whether the engine finds its file whole, each document can be read, there
    /// is each index entry that should be there and no other, and the log and the kept answers fit. Commits go on beside
    /// it. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the look through the file.
    ///   - report: told each problem.
    ///   - progress: told the documents so far; what it throws ends the check.
    /// - Throws: `DocumentError` where the store can't be read at all, `CancellationError`, or what `report` or
    ///   `progress` throws.
    package func check(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        report: (String) throws -> Void, progress: (WorkProgress) throws -> Void
    ) throws -> CheckResult {
        var found = 0
        if let engine = engine as? any EmbeddedEngine {
            do {
                try engine.findDamage(until: cancellation) { finding in
                    found += 1
                    try report("the file is damaged: \(finding)")
                    return true
                }
            } catch let error as StorageError {
                throw error.documentError
            }
        }
        var result = try withoutActuallyEscaping(report) { report in
            try withoutActuallyEscaping(progress) { progress in
                try reading { storage in
                    var check = try StoreCheck(storage, report: report, progress: progress)
                    try check.run()
                    return check.result
                }
            }
        }
        result.problems += found
        return result
    }
}

extension DocumentStore {
    /// The engine where it keeps a file of its own; nil for others.
    package var embeddedEngine: (any EmbeddedEngine)? { engine as? any EmbeddedEngine }
}
