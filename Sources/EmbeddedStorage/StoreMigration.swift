import Foundation
package import StorageEngine

extension EmbeddedStore {
    /// The rows that one commit of the copy has at most, in bytes.
    private static let bytesPerCommit = 4 << 20

    /// Moves the store to another engine. The old one is untouched until the new one has been compared with it, row by row.
    /// The data directory must be owned by this process.
    ///
    /// - Parameters:
    ///   - kind: the engine; nil for the one that the configuration names.
    ///   - progress: called with the rows so far, copied and compared; an error that it throws ends the migration.
    /// - Returns: the rows, and the path that the old store was moved to.
    /// - Throws: `StorageError` if the store or the disk refuses, or what `progress` throws. Nothing has changed then, unless
    ///   the error says so.
    package func migrate(
        to kind: EmbeddedEngineKind?, progress: @escaping (WorkProgress) throws -> Void
    ) throws -> (rows: Int, aside: String) {
        _ = try finishReplacement()
        guard let kind = kind ?? wanted else {
            throw StorageError(.unavailable, "name the engine to move the data to, with --engine or store.engine")
        }
        guard let old = try present() else {
            throw StorageError(.unavailable, "there is no data in \(directory) to move")
        }
        guard old != kind else {
            throw StorageError(.unavailable, "the data in \(directory) is kept by \(kind.rawValue) already")
        }
        let draft = path(kind) + ".migrating"
        removeDraft(draft)
        do {
            let rows = try Self.with(old, at: path(old)) { source in
                try source.makeReadSession().read { reader in
                    var counter = RowCounter(progress: progress)
                    try Self.with(kind, at: draft) { target in
                        for table in StorageTable.allCases { try copy(table, of: reader, to: target, &counter) }
                    }
                    let copied = counter.rows
                    // Opened again, it has only what is on the disk.
                    try Self.with(kind, at: draft) { target in
                        let session = try target.makeReadSession()
                        for table in StorageTable.allCases { try compare(table, of: reader, with: session, &counter) }
                    }
                    return copied
                }
            }
            try decide(draft, kind)
            return (rows, try putInPlace(kind, of: old))
        } catch {
            removeDraft(draft)
            throw error
        }
    }

    private func putInPlace(_ kind: EmbeddedEngineKind, of old: EmbeddedEngineKind) throws -> String {
        do {
            guard let aside = try finishReplacement() else {
                throw StorageError(.internal, "the old store \(path(old)) has vanished")
            }
            return aside
        } catch {
            throw StorageError(
                .unavailable,
                "the data has been moved to \(kind.rawValue), and will be put in place when the host starts next: \(error)"
            )
        }
    }

    private static func with<Result>(
        _ kind: EmbeddedEngineKind, at path: String, _ body: (any EmbeddedEngine) throws -> Result
    ) throws -> Result {
        let engine = try open(kind, at: path)
        let result: Result
        do {
            result = try body(engine)
        } catch {
            try? engine.close()
            throw error
        }
        try engine.close()
        return result
    }

    private func copy(
        _ table: StorageTable, of reader: any StorageReader, to target: any StorageEngine, _ counter: inout RowCounter
    ) throws {
        var rows: [(key: [UInt8], value: [UInt8])] = []
        var bytes = 0
        func flush() throws {
            try target.write { writer in for (key, value) in rows { try writer.put(table, key, value) } }
            try counter.add(rows.count)
            rows.removeAll(keepingCapacity: true)
            bytes = 0
        }
        try reader.scan(table, .all, reverse: false) { key, value in
            rows.append((key, value))
            bytes += key.count + value.count
            if bytes >= Self.bytesPerCommit { try flush() }
            return true
        }
        try flush()
    }

    /// - Throws: `StorageError` at the first row that differs.
    private func compare(
        _ table: StorageTable, of reader: any StorageReader, with session: any ReadSession, _ counter: inout RowCounter
    ) throws {
        /// The last rows before a key, of bounded size. The other way than they were copied: where an engine passes by what it
        /// can't read, one of both ways finds it.
        func rows(_ reader: any StorageReader, before end: [UInt8]?) throws -> [[UInt8]] {
            var (rows, bytes) = ([[UInt8]](), 0)
            try reader.scan(table, KeyRange(lower: [], upper: end), reverse: true) { key, value in
                rows += [key, value]
                bytes += key.count + value.count
                return bytes < Self.bytesPerCommit
            }
            return rows
        }
        var end: [UInt8]?
        while true {
            let expected = try rows(reader, before: end)
            guard try session.read({ try rows($0, before: end) }) == expected else {
                throw StorageError(
                    .internal, "the copy of the data differs from it in its part \(table); nothing has changed")
            }
            guard !expected.isEmpty else { return }
            try counter.add(expected.count / 2)
            end = expected[expected.count - 2]
        }
    }
}

/// Counts rows, and tells of them.
private struct RowCounter {
    let progress: (WorkProgress) throws -> Void
    var rows = 0

    mutating func add(_ count: Int) throws {
        rows += count
        try progress(WorkProgress(done: rows))
    }
}
