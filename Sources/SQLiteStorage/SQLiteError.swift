import StorageEngine
import GRDB
import GRDBSQLite

extension StorageError {
    /// - Parameter sqliteCode: a primary or extended result code.
    init(sqliteCode: Int32, file: String) {
        let reason = sqlite3_errstr(sqliteCode).map { String(cString: $0) } ?? "unknown error"
        // The log's index in `-shm`, without which SQLite can't even read.
        let hasNoRoomForIndex = sqliteCode == ResultCode.SQLITE_IOERR_SHMSIZE.rawValue
        switch hasNoRoomForIndex ? SQLITE_FULL : sqliteCode & 0xFF {
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            self.init(
                .damaged, "the store's file \(file) is damaged (SQLite: \(reason)); restore it from a backup")
        case SQLITE_FULL:
            self.init(.unavailable, "the disk of the store's file \(file) is full; nothing was written")
        case SQLITE_IOERR:
            self.init(.unavailable, "the store's file \(file) can't be read or written (SQLite: \(reason))")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.unavailable, "the store's file \(file) is in use by another process")
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            self.init(
                .unavailable,
                "the store's file \(file) can't be opened for writing (SQLite: \(reason)); check its permissions")
        case SQLITE_NOMEM: self.init(.unavailable, "there is no memory left for the store")
        default: self.init(.internal, "the store's file \(file) could not be used (SQLite: \(reason))")
        }
    }

    init(_ error: any Error, file: String) {
        switch error {
        case let error as StorageError: self = error
        case let error as DatabaseError:
            self.init(sqliteCode: error.extendedResultCode.rawValue, file: file)
        default: self.init(.internal, "the store's file \(file) could not be used: \(error)")
        }
    }

    /// The error of a ``SQLiteFile``: SQLite's reason alone, because the owner knows what the file is for.
    init(reasonOf error: DatabaseError) {
        let reason = error.message ?? "SQLite refuses it"
        self.init(StorageError(sqliteCode: error.resultCode.rawValue, file: "").kind, reason)
    }
}
