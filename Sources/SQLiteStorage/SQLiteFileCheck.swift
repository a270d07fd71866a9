import StorageEngine
import Foundation

/// Checks a database file before it is trusted. Costs the same for any size of file.
enum SQLiteFileCheck {
    private static let magic = Array("SQLite format 3\0".utf8)

    /// What a file is for, which decides the advice in its errors.
    enum Role {
        case store, backup

        var name: String {
            switch self {
            case .store: "the store's file"
            case .backup: "the backup"
            }
        }

        fileprivate var advice: String {
            switch self {
            case .store:
                "Restore it from a backup, or move it away with its log (-wal) to start with an empty store"
            case .backup: "Use another one"
            }
        }
    }

    /// Refuses to begin a store beside the log of one that is missing: SQLite would take the log's pages for the new store's.
    static func checkHasNoLog(_ file: String) throws {
        let log = file + "-wal"
        guard let size = StoreFile.size(log), size > 0 else { return }
        throw StorageError(
            .damaged,
            "the store's file \(file) is missing, and its log \(log) is there, with commits that are nowhere else. Put the "
                + "file back, restore a backup, or move the log away to start with an empty store")
    }

    /// Every page must be in the file, or in the log that is still to be checkpointed: SQLite would fill missing pages
    /// with zeros.
    ///
    /// - Throws: `StorageError` if the file isn't a complete database of ours.
    static func check(_ file: String, as role: Role = .store) throws {
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw StorageError(.unavailable, "\(role.name) \(file) can't be read; check its permissions")
        }
        defer { try? handle.close() }
        let header: [UInt8]
        let size: UInt64
        do {
            header = Array(try handle.read(upToCount: 100) ?? Data())
            size = try handle.seekToEnd()
        } catch {
            throw StorageError(.unavailable, "\(role.name) \(file) can't be read: \(error.localizedDescription)")
        }
        func damaged(_ what: String) -> StorageError {
            StorageError(.damaged, "\(role.name) \(file) is damaged: \(what). \(role.advice)")
        }
        guard header.count == 100 else { throw damaged("it has only \(header.count) bytes") }
        guard header.starts(with: magic) else { throw damaged("it isn't an SQLite database") }
        let pageSize = number(header[16..<18]) == 1 ? 65_536 : number(header[16..<18])
        let log: SQLiteLog
        do { log = try SQLiteLog(ofDatabase: file) } catch {
            // It is another user's if that one has opened the database last.
            throw StorageError(
                .unavailable, "the log \(file)-wal of \(role.name) can't be read; check its permissions")
        }
        let pages = log.databasePages ?? number(header[28..<32])
        guard pageSize >= 512, size % pageSize == 0 || log.databasePages != nil else {
            throw damaged("its size of \(size) bytes isn't a multiple of its pages' size")
        }
        let present = size / pageSize
        guard present >= pages || (present + 1...pages).allSatisfy(log.pages.contains) else {
            throw damaged("it has \(size) of \(pageSize * pages) bytes")
        }
        guard number(header[68..<72]) == UInt64(SQLiteSchema.applicationID) else {
            throw StorageError(
                .damaged, "\(file) is a database of something else; name another file or another data directory")
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
