package import StorageEngine
import DocumentModel

/// How far the change log reaches back, and its size. Stored with each batch that changes it.
package struct HistoryBounds: Hashable, Sendable {
    /// The log has all changes after this version, and none at or before it.
    package var floor: Int64
    package var bytes: Int

    package init(floor: Int64, bytes: Int) {
        self.floor = floor
        self.bytes = bytes
    }

    private static let key = Array("history".utf8)

    /// More bytes than any log has.
    private static let maxBytes = 1 << 60

    /// - Returns: nil if the store has no log yet.
    /// - Throws: `DecodingFailure` for a row that this program didn't write, `StorageError`.
    package static func read(_ storage: any StorageReader) throws -> HistoryBounds? {
        guard let bytes = try storage.get(.meta, key) else { return nil }
        var reader = ByteReader(bytes)
        let bounds = HistoryBounds(floor: try reader.signed(), bytes: Int(try reader.signed()))
        try reader.finish()
        guard StoreVersion.isCommitTime(bounds.floor), (0...maxBytes).contains(bounds.bytes) else {
            throw DecodingFailure("the bounds of the change log are damaged")
        }
        return bounds
    }

    package func write(to storage: any StorageWriter) throws {
        var writer = ByteWriter()
        writer.write(signed: floor)
        writer.write(signed: Int64(bytes))
        try storage.put(.meta, Self.key, writer.bytes)
    }

    /// Removes the oldest rows while they are older than a version or the log has too many bytes.
    ///
    /// One call removes a limited number of rows or of bytes, whichever is more. A row whose key can't be read stays for
    /// the check to report.
    ///
    /// - Parameters:
    ///   - old: rows up to this version aren't needed any more.
    ///   - oldestActiveRead: rows up to this version aren't being read. Newer rows are removed only once the log has
    ///     twice its maximum size.
    /// - Returns: whether more rows should be removed.
    /// - Throws: `StorageError`; then nothing has changed.
    @discardableResult
    package mutating func trim(
        upTo old: Int64, oldestActiveRead: Int64, maxBytes: Int, atMost limit: Int, orBytes byteLimit: Int = 0,
        in storage: any StorageWriter
    ) throws -> Bool {
        var removed: [[UInt8]] = []
        var removedBytes = 0
        var isBehind = false
        let before = self
        do {
            // An engine may have to step over what was removed before.
            try storage.scanKeys(.changes, ChangeLog.range(after: floor - 1), reverse: false) { bytes in
                guard let key = try? ChangeLog.Key(bytes) else { return true }
                let goes =
                    key.version <= old
                    || (key.version <= oldestActiveRead ? self.bytes > maxBytes : self.bytes / 2 > maxBytes)
                    // The rest of a partly removed commit is useless.
                    || key.version == floor
                guard goes else { return false }
                guard removed.count < limit || removedBytes < byteLimit else {
                    isBehind = true
                    return false
                }
                removed.append(bytes)
                removedBytes += key.size
                // The size in a damaged key may be any.
                self.bytes = max(0, self.bytes - key.size)
                floor = key.version
                return true
            }
        } catch {
            self = before
            throw error
        }
        for key in removed { try storage.delete(.changes, key) }
        return isBehind
    }
}
