import Foundation

/// Looks at a database file before it is trusted. Costs the same for any size of file.
enum SQLiteFileCheck {
    private static let magic = Array("SQLite format 3\0".utf8)

    /// - Parameter complete: whether every page must be in the file, that is, no log has still to be played in.
    /// - Throws: `StorageError` where this can't be a whole database of ours.
    static func check(_ file: String, complete: Bool) throws {
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw StorageError(.unavailable, "the store's file \(file) can't be read; check its permissions")
        }
        defer { try? handle.close() }
        let header: [UInt8]
        let size: UInt64
        do {
            header = Array(try handle.read(upToCount: 100) ?? Data())
            size = try handle.seekToEnd()
        } catch {
            throw StorageError(.unavailable, "the store's file \(file) can't be read: \(error.localizedDescription)")
        }
        guard header.count == 100 else { throw damaged(file, "it has only \(header.count) bytes") }
        guard header.starts(with: magic) else { throw damaged(file, "it is no SQLite database") }
        guard complete else { return }
        let pageSize = number(header[16..<18]) == 1 ? 65_536 : number(header[16..<18])
        let pages = number(header[28..<32])
        guard size >= pageSize * pages, size % max(pageSize, 1) == 0 else {
            throw damaged(file, "it has \(size) of \(pageSize * pages) bytes")
        }
        guard number(header[68..<72]) == UInt64(SQLiteSchema.applicationID) else {
            throw StorageError(
                .damaged, "\(file) is a database of something else; name another file or another data directory")
        }
    }

    private static func damaged(_ file: String, _ what: String) -> StorageError {
        StorageError(
            .damaged,
            "the store's file \(file) is damaged: \(what). Restore it from a backup, "
                + "or move it away to start with an empty store")
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
