package import StorageEngine
import DocumentModel

/// How far the change log reaches back and how large it is. Stored with each batch that changes it.
package struct HistoryBounds: Hashable, Sendable {
    /// All changes after this version are in the log, and none up to it.
    package var floor: Int64
    package var bytes: Int

    package init(floor: Int64, bytes: Int) {
        self.floor = floor
        self.bytes = bytes
    }

    private static let key = Array("history".utf8)

    /// - Returns: nil where the store has no log yet.
    package static func read(_ storage: any StorageReader) throws -> HistoryBounds? {
        guard let bytes = try storage.get(.meta, key) else { return nil }
        var reader = ByteReader(bytes)
        let bounds = HistoryBounds(floor: try reader.signed(), bytes: Int(try reader.signed()))
        try reader.finish()
        return bounds
    }

    package func write(to storage: any StorageWriter) throws {
        var writer = ByteWriter()
        writer.write(signed: floor)
        writer.write(signed: Int64(bytes))
        try storage.put(.meta, Self.key, writer.bytes)
    }

    /// Removes the oldest rows, at most some of them or some of their bytes, whichever is more, while they are older than a version or the log has too many bytes.
    ///
    /// - Parameters:
    ///   - old: up to where nobody needs them.
    ///   - oldestActiveRead: up to where nobody reads. What is newer goes only once there is twice as much as may be.
    /// - Returns: whether there is more that should go.
    @discardableResult
    package mutating func trim(
        upTo old: Int64, oldestActiveRead: Int64, maxBytes: Int, atMost limit: Int, orBytes byteLimit: Int = 0,
        in storage: any StorageWriter
    ) throws -> Bool {
        var removed: [[UInt8]] = []
        var removedBytes = 0
        var isBehind = false
        try storage.scanKeys(.changes, KeyRange.all, reverse: false) { bytes in
            let key = try ChangeLog.Key(bytes)
            let goes =
                key.version <= old
                || (key.version <= oldestActiveRead ? self.bytes > maxBytes : self.bytes / 2 > maxBytes)
                // What is left of a commit that went in part is of no use.
                || key.version == floor
            guard goes else { return false }
            guard removed.count < limit || removedBytes < byteLimit else {
                isBehind = true
                return false
            }
            removed.append(bytes)
            removedBytes += key.size
            self.bytes -= key.size
            floor = key.version
            return true
        }
        for key in removed { try storage.delete(.changes, key) }
        return isBehind
    }
}
