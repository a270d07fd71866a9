import StorageEngine
import DocumentModel

extension IndexPass {
    /// Processes the next documents.
    ///
    /// - Parameters:
    ///   - isEnough: called after each document; true ends the step.
    ///   - skipped: called with each document that can't be read, which is skipped: one such document must not keep all
    ///     others from their indexes.
    /// - Returns: whether the pass has ended.
    /// - Throws: `StorageError`; the batch must not be kept then.
    mutating func advance(
        _ catalog: IndexCatalog, _ storage: any StorageWriter, until isEnough: () -> Bool,
        skipped: (DecodingFailure) -> Void
    ) throws -> Bool {
        let pass = self
        switch stage {
        case .groups:
            let all = KeyRange.all
            let isOver = try each(of: .documents, all, storage, until: isEnough, skipped) { key in
                let path = try Self.path(DocumentKeys.path(of: key))
                if let entry = IndexEntries.groupEntry(of: path) { try storage.put(.index, entry.key, entry.row) }
            }
            if isOver { begin(.strayGroups) }
        case .strayGroups:
            let isOver = try each(of: .index, IndexScope.groups, storage, until: isEnough, skipped) { key in
                if try !Self.isGroupEntry(key, storage) { try storage.delete(.index, key) }
            }
            if isOver { begin(.removal) }
        case .removal: if try remove(storage) { begin(.documents) }
        case .documents:
            var range = KeyRange.all
            if case .collections(let id) = scope { range = KeyRange(prefix: DocumentKeys.prefix(ofCollection: id)) }
            let isOver = try each(of: .documents, range, storage, until: isEnough, skipped) { key in
                try pass.complete(key, catalog, storage)
            }
            guard isOver else { return false }
            guard case .collections = scope else { return true }
            stage = .nestedDocuments
            position = []
        case .nestedDocuments:
            guard case .collections(let id) = scope else { return true }
            let range = KeyRange(prefix: IndexScope.groupPrefix(id))
            return try each(of: .index, range, storage, until: isEnough, skipped) { key in
                guard let path = IndexScope.groupPath(of: key) else {
                    throw DecodingFailure("an entry of the collection group \"\(id)\" can't be read")
                }
                try pass.complete(DocumentKeys.key(of: try Self.path(path)), catalog, storage)
            }
        }
        return false
    }

    private mutating func begin(_ stage: Stage) {
        self.stage = stage
        position = []
        documents = 0
    }

    /// Visits some keys of a range after the position, and advances the position. The body may write to the table.
    ///
    /// - Returns: whether the range has ended.
    private mutating func each(
        of table: StorageTable, _ range: KeyRange, _ storage: any StorageReader, until isEnough: () -> Bool,
        _ skipped: (DecodingFailure) -> Void, _ body: ([UInt8]) throws -> Void
    ) throws -> Bool {
        var range = range
        if !position.isEmpty { range.lower = position + [0] }
        var keys: [[UInt8]] = []
        try storage.scanKeys(table, range, reverse: false) { key in
            keys.append(key)
            return keys.count < Self.keysAtOnce
        }
        for key in keys {
            do { try body(key) } catch let failure as DecodingFailure { skipped(failure) }
            position = key
            documents += 1
            if isEnough() { return false }
        }
        return keys.count < Self.keysAtOnce
    }

    private static let keysAtOnce = 64

    /// Whether a key is a valid group entry: it names a document that exists, in the form that this program writes.
    private static func isGroupEntry(_ key: [UInt8], _ storage: any StorageReader) throws -> Bool {
        guard let path = IndexScope.groupPath(of: key).flatMap({ try? DocumentPath($0) }),
            IndexEntries.groupEntry(of: path)?.key == key
        else { return false }
        do {
            return try storage.get(.documents, DocumentKeys.key(of: path)) != nil
        } catch let error as StorageError where error.kind == .damaged {
            // It is there, most likely.
            return true
        }
    }

    /// Removes some entries from the position on, and advances the position: entries that commits write before it are
    /// already correct, and they can't keep the stage from ending.
    ///
    /// - Returns: whether only the entries of groups are left.
    private mutating func remove(_ storage: any StorageWriter) throws -> Bool {
        let groups = IndexScope.groups
        if position.lexicographicallyPrecedes(groups.lower) {
            let last = try storage.deleteEntries(KeyRange(lower: position, upper: groups.lower))
            position = last.map { $0 + [0] } ?? groups.upper ?? []
            return false
        }
        guard let last = try storage.deleteEntries(KeyRange(lower: position, upper: nil)) else { return true }
        position = last + [0]
        return false
    }

    private func complete(_ key: [UInt8], _ catalog: IndexCatalog, _ storage: any StorageWriter) throws {
        let path = try Self.path(DocumentKeys.path(of: key))
        let bytes: [UInt8]?
        do {
            bytes = try storage.get(.documents, key)
        } catch let error as StorageError where error.kind == .damaged {
            throw DecodingFailure("\(path): \(error.message)")
        }
        guard let bytes else { throw DecodingFailure("the index names \(path), which is missing") }
        let document: Document
        do {
            document = try StoredDocument.decode(bytes, path: path, fields: names(catalog.of(path)))
        } catch {
            throw DecodingFailure("\(path): \(error.reason)")
        }
        try storage.completeEntries(of: document, catalog, self)
    }

    /// The fields at the top that a document's entries are made of; nil for all.
    private func names(_ indexes: CollectionIndexes?) -> Set<String>? {
        guard scope != .everything, fields.isEmpty else { return nil }
        let built = (indexes?.written ?? []).filter { self.indexes.contains($0.id) }
        return Set(built.flatMap(\.definition.fields).map { $0.path.segments[0] })
    }

    private static func path(_ string: String) throws(DecodingFailure) -> DocumentPath {
        do { return try DocumentPath(string) } catch { throw DecodingFailure(error.message) }
    }
}

extension StorageWriter {
    /// Removes some entries of a range.
    ///
    /// - Returns: the last one removed, after which there may be more; nil if the range is empty now.
    func deleteEntries(_ range: KeyRange, atMost limit: Int = 64) throws -> [UInt8]? {
        var keys: [[UInt8]] = []
        try scanKeys(.index, range, reverse: false) { key in
            keys.append(key)
            return keys.count < limit
        }
        for key in keys { try delete(.index, key) }
        return keys.count < limit ? nil : keys.last
    }
}
