package import StorageEngine

extension StorageEngine {
    /// The bytes of all documents, each once.
    package func values() throws -> Set<UInt8> {
        try makeReadSession().read { reader in
            var values: Set<UInt8> = []
            try reader.scan(.documents, .all, reverse: false) { _, value in
                values.formUnion(value)
                return true
            }
            return values
        }
    }
}

/// The error with which an engine refuses something; nil if it doesn't.
package func storageRefusal(_ body: () throws -> Void) -> StorageError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StorageError
    }
}
