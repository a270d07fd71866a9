import CRocksDB
import StorageEngine

extension StorageError {
    private static let isFull = " is full; nothing was written"

    private static let isMissing = "a file of it is missing"

    var tellsOfMissingFile: Bool { message.contains(Self.isMissing) }

    var tellsOfFullDisk: Bool { message.hasSuffix(Self.isFull) }

    static var noMemory: StorageError { StorageError(.unavailable, "there is no memory left for the store") }

    /// - Parameters:
    ///   - message: RocksDB's: a kind, a colon, and what happened to which file.
    ///   - directory: the store's.
    init(rocksDB message: String, directory: String) {
        let full = "No space left on device"
        if message.hasPrefix("Corruption") || message.contains("checksum mismatch") {
            self.init(
                .damaged, "the store \(directory) is damaged (RocksDB: \(message)); restore it from a backup")
        } else if message.contains(full) {
            self.init(.unavailable, "the disk of the store \(directory)\(Self.isFull)")
        } else if message.contains("lock hold by current process") || message.contains("LOCK: Resource temporarily")
            || message.contains("While lock file")
        {
            self.init(.unavailable, "the store \(directory) is in use by another process")
        } else if message.contains("No such file or directory") {
            // Each file that is looked for was written before.
            self.init(
                .damaged,
                "the store \(directory) is damaged: \(Self.isMissing) (RocksDB: \(message)); restore it from a backup"
            )
        } else if message.contains("Permission denied") || message.contains("Read-only file system") {
            self.init(
                .unavailable,
                "the store \(directory) can't be opened for writing (RocksDB: \(message)); check its permissions")
        } else if message.hasPrefix("IO error") {
            self.init(.unavailable, "the store \(directory) can't be read or written (RocksDB: \(message))")
        } else {
            self.init(.internal, "the store \(directory) could not be used (RocksDB: \(message))")
        }
    }
}

/// Calls a function of RocksDB's that reports its error through a pointer.
///
/// - Throws: `StorageError`.
func calling<Result>(
    _ directory: String, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) throws(StorageError) -> Result {
    var error: UnsafeMutablePointer<CChar>?
    let result = body(&error)
    guard let error else { return result }
    defer { rocksdb_free(error) }
    throw StorageError(rocksDB: String(cString: error), directory: directory)
}
