import DocumentModel
@testable import DocumentStore

/// Compares the index with what the documents would have.
enum IndexAudit {
    /// - Throws: where an entry is missing, left over or not what it should be. All indexes must be built.
    static func check(_ engine: any StorageEngine) throws {
        try engine.makeReadSession().read { storage in
            let (_, generation) = try StoreVersion.readBoth(storage)
            let catalog = try IndexCatalog.read(storage, generation: generation ?? 0)
            var expected: [[UInt8]: [UInt8]] = [:]
            try storage.scan(.documents, KeyRange(lower: [], upper: nil), reverse: false) { key, bytes in
                let path = try DocumentPath(DocumentKeys.path(of: key))
                for entry in IndexEntries.all(of: try StoredDocument.decode(bytes, path: path), catalog) {
                    expected[entry.key] = entry.row
                }
                return true
            }
            try storage.scan(.index, KeyRange(lower: [], upper: nil), reverse: false) { key, row in
                guard expected.removeValue(forKey: key) == row else {
                    throw HistoryReplay.Anomaly(description: "an index entry is of no document, or another: \(key)")
                }
                return true
            }
            guard let missing = expected.keys.first else { return }
            throw HistoryReplay.Anomaly(description: "\(expected.count) index entries are missing, such as \(missing)")
        }
    }
}
