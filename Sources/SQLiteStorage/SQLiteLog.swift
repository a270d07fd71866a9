import Foundation

/// The write-ahead log beside a database file, as far as it tells which pages it holds.
///
/// The layout is SQLite's: a header of 32 bytes with the page size and two salts, then frames of a 24-byte header and a
/// page. A frame that ends a commit holds the database's size in pages.
struct SQLiteLog {
    /// The pages of all complete commits.
    private(set) var pages: Set<UInt64> = []
    /// The database's size in pages after the last commit; nil if the log holds no commit.
    private(set) var databasePages: UInt64?

    private static let headerSize = 32
    private static let frameHeaderSize = 24

    /// Reads the log of a database file; empty if there is no log.
    init(ofDatabase file: String) throws {
        guard FileManager.default.fileExists(atPath: file + "-wal") else { return }
        let log = try Data(contentsOf: URL(fileURLWithPath: file + "-wal"), options: .alwaysMapped)
        guard log.count > Self.headerSize else { return }
        func number(_ offset: Int) -> UInt64 { log[offset..<offset + 4].reduce(0) { $0 << 8 | UInt64($1) } }
        let frameSize = Self.frameHeaderSize + Int(number(8))
        guard frameSize > Self.frameHeaderSize + 511 else { return }
        var uncommitted: Set<UInt64> = []
        var offset = Self.headerSize
        while offset + frameSize <= log.count {
            // Frames with other salts are left over from before the log was restarted.
            guard number(offset + 8) == number(16), number(offset + 12) == number(20) else { break }
            uncommitted.insert(number(offset))
            let size = number(offset + 4)
            if size > 0 {
                pages.formUnion(uncommitted)
                uncommitted = []
                databasePages = size
            }
            offset += frameSize
        }
    }
}
