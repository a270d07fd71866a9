package import StorageEngine

extension StorageEngine {
    /// Writes documents of one value, in one commit.
    package func fill(_ value: UInt8, count: Int, bytes: Int) throws {
        try write { writer in
            for key in 0..<count {
                let content = [UInt8](repeating: value, count: bytes)
                try writer.put(.documents, [UInt8(key >> 8), UInt8(key & 255)], content)
            }
        }
    }

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
