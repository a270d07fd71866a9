import CommitPipeline
package import RealtimeModel
import StorageEngine

extension RealtimeStore {
    /// Reads a namespace as of one time, in a read session of its own and without a limit: for reads that take long, beside
    /// which commits and other reads go on. Blocks the calling thread.
    ///
    /// A namespace that doesn't exist is empty.
    ///
    /// - Throws: `StorageError`, `DecodingFailure` if what is stored is damaged, or what the body throws.
    package func readApart<Success>(
        in namespace: String, _ body: (RealtimeSnapshot) throws -> Success
    ) throws -> Success {
        try SnapshotSession(try pipeline.engine.makeReadSession()).read { snapshot in
            let record = try catalogs.catalog(of: snapshot).record(of: namespace)
            let limits = RealtimeReadLimits(maxBytes: .max)
            return try body(RealtimeSnapshot(record, in: snapshot, limits: limits))
        }
    }
}

extension RealtimeSnapshot {
    /// Visits the rows of a node in the order of a walk.
    package func eachRow(at path: RealtimePath, _ body: (RealtimeRowLine) throws -> Void) throws {
        var bytes = ReadBytes(limits)
        try eachRow(at: TreeKey.of(path), counting: &bytes) { place, node in
            try body(RealtimeRowLine(place, node.leaf, priority: node.priority))
        }
    }
}
