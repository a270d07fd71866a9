import DocumentModel

/// How an earlier state is seen: the storage's documents that haven't changed since, and the others as the log has them.
///
/// A document's update time says whether it changed since. In the log the first change since then is the one whose
/// earlier document isn't newer; so nothing has to be remembered while reading, however much has changed.
extension DocumentView {
    private static let maxSteps = 16

    /// Whether a document that stands in the storage is one that this view sees.
    func sees(_ document: Document) -> Bool {
        past.map { document.updateTime.microseconds <= $0 } ?? true
    }

    /// A document's stored bytes.
    func stored(_ path: DocumentPath) throws -> [UInt8]? {
        let key = DocumentKeys.key(of: path)
        let current = try storage.get(.documents, key)
        guard let past else { return current }
        guard var bytes = current else { return try firstReplaced(key, after: past) }
        // From change to change backwards, which is short for most.
        for _ in 0..<Self.maxSteps {
            let version = try StoredDocument.updateTime(bytes, path: path)
            if version <= past { return bytes }
            guard let change = try ChangeLog.before(key, at: version, in: storage) else {
                throw DecodingFailure("the change log lacks the change of a document at \(version)")
            }
            // It was made then; there may have been another one before, which was deleted.
            guard let before = change else { break }
            bytes = before
        }
        return try firstReplaced(key, after: past)
    }

    /// The documents as they were that a query covers, of those that changed or went since.
    func forEachReplaced(_ query: NormalizedQuery, _ body: (Document) throws -> Void) throws {
        guard let past else { return }
        let filter = CoverFilter(query)
        try storage.scanKeys(.changes, ChangeLog.range(after: past), reverse: false) { bytes in
            let key = try ChangeLog.Key(bytes)
            guard filter.covers(key.documentKey) else { return true }
            guard let value = try storage.get(.changes, bytes) else {
                throw DecodingFailure("the change log lost a row")
            }
            guard let before = try ChangeLog.images(value).before else { return true }
            if let document = try StoredDocument.decode(before, path: try key.path(), upTo: past) { try body(document) }
            return true
        }
    }

    /// What the first change of a document after a version replaced.
    private func firstReplaced(_ key: [UInt8], after version: Int64) throws -> [UInt8]? {
        var found: [UInt8]?
        try storage.scanKeys(.changes, ChangeLog.range(after: version), reverse: false) { bytes in
            guard try ChangeLog.Key(bytes).documentKey.elementsEqual(key) else { return true }
            found = bytes
            return false
        }
        guard let found, let value = try storage.get(.changes, found) else { return nil }
        return try ChangeLog.images(value).before
    }
}

/// Which document keys a query covers, told from the bytes.
struct CoverFilter {
    private let prefix: [UInt8]
    private let isGroup: Bool
    /// The last two marks of a key: the group's id between two ends.
    private let group: [UInt8]

    init(_ query: NormalizedQuery) {
        isGroup = query.query.allDescendants
        guard isGroup else {
            prefix = DocumentKeys.prefix(ofCollection: query.collection.string)
            group = []
            return
        }
        var start: [UInt8] = []
        if let parent = query.query.parent { DocumentKeys.append(parent.string, to: &start) }
        prefix = start
        group = DocumentKeys.prefix(ofCollection: query.query.collectionID)
    }

    func covers(_ key: ArraySlice<UInt8>) -> Bool {
        guard key.starts(with: prefix) else { return false }
        guard isGroup else { return true }
        // The id of the collection stands before the key's last 0, between the 0 before that and the one before.
        guard let end = key.lastIndex(of: 0) else { return false }
        let collection = key[key.startIndex...end]
        guard collection.count >= group.count, collection.suffix(group.count).elementsEqual(group) else { return false }
        let rest = collection.dropLast(group.count)
        return rest.isEmpty || rest.last == 0
    }
}
