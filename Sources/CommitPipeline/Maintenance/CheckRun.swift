package import StorageEngine

/// One run of a check: the state that is checked, and where its problems are reported.
package final class CheckRun {
    package let storage: any StorageReader
    /// The version of the state.
    package let version: Int64
    private let report: (String) throws -> Void
    private let progress: (WorkProgress) throws -> Void
    private(set) var problems = 0
    /// Whether a part of the check has ended early, because the engine can't read what follows.
    package private(set) var isCutOff = false

    init(
        _ storage: any StorageReader, report: @escaping (String) throws -> Void,
        progress: @escaping (WorkProgress) throws -> Void
    ) throws {
        self.storage = storage
        version = try StoreVersion.read(storage)
        self.report = report
        self.progress = progress
    }

    /// Reports a problem.
    package func note(_ problem: String) throws {
        problems += 1
        try report(problem)
    }

    /// Checks a part of the data. Where the engine can't read it, the part ends, and the others can still be checked.
    ///
    /// - Parameter what: the part, as problems name it.
    /// - Throws: what the body throws, except for damage.
    package func part(_ what: String, _ body: () throws -> Void) throws {
        do { try body() } catch let error as StorageError where error.kind == .damaged {
            isCutOff = true
            try note("\(what) can't be checked any further: \(error.message)")
        }
    }

    /// Reports progress; an error that this throws ends the check.
    package func advance(to progress: WorkProgress) throws { try self.progress(progress) }
}
