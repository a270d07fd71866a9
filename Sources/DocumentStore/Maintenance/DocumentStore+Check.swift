import CommitPipeline
package import StorageEngine

extension DocumentStore {
    /// Checks one state of the store: whether the engine finds its file intact, each document can be read, the index
    /// entries are exactly those that should exist, and the log and the kept answers are consistent. Commits go on
    /// meanwhile. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the check of the file.
    ///   - report: called with each problem.
    ///   - progress: called with the number of documents so far; an error that it throws ends the check.
    /// - Throws: `DocumentError` if the store can't be read at all, `CancellationError`, or what `report` or `progress`
    ///   throws.
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
    /// The engine, if it keeps a file of its own; otherwise nil.
    package var embeddedEngine: (any EmbeddedEngine)? { engine as? any EmbeddedEngine }
}
