import CommitPipeline
import StorageEngine
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
        guard let past else { return try storage.get(.documents, key) }
        switch try walk(path, key, to: past) {
        case .found(let bytes): return bytes
        case .scan(let last): return try firstReplaced(path, key, after: past, upTo: last)
        }
    }

    /// Goes from change to change backwards, which is short for most.
    func walk(_ path: DocumentPath, _ key: [UInt8], to past: Int64) throws -> PastStep {
        var bytes: [UInt8]
        if let current = try storage.get(.documents, key) {
            bytes = current
        } else {
            guard let newest = lookup?.newest(of: path) else { return .scan(upTo: nil) }
            guard newest > past else { return .found(nil) }
            guard let change = try ChangeLog.before(key, at: newest, in: storage), let before = change else {
                return .scan(upTo: newest)
            }
            bytes = before
        }
        for _ in 0..<Self.maxSteps {
            let version = try StoredDocument.updateTime(bytes, path: path)
            if version <= past { return .found(bytes) }
            guard let change = try ChangeLog.before(key, at: version, in: storage) else {
                throw DecodingFailure("the change log lacks the change of a document at \(version)")
            }
            // It was made then; there may have been another one before, which was deleted.
            guard let before = change else { return version - 1 > past ? .scan(upTo: version - 1) : .found(nil) }
            bytes = before
        }
        let version = try StoredDocument.updateTime(bytes, path: path)
        return version <= past ? .found(bytes) : .scan(upTo: version)
    }

    /// The documents as they were that a query covers, of those that changed or went since.
    func forEachReplaced(_ query: NormalizedQuery, _ body: (Document) throws -> Void) throws {
        guard let past else { return }
        var range = ChangeLog.range(after: past)
        if let lookup {
            guard let span = lookup.span(of: query, after: past) else { return }
            range = ChangeLog.range(after: span.lowerBound - 1, upTo: span.upperBound)
        }
        let filter = CoverFilter(query)
        try storage.scanKeys(.changes, range, reverse: false) { bytes in
            let key = try ChangeLog.Key(bytes)
            guard filter.covers(key.recordKey) else { return true }
            guard let value = try storage.get(.changes, bytes) else {
                throw DecodingFailure("the change log lost a row")
            }
            guard let before = try ChangeLog.images(value).before else { return true }
            if let document = try StoredDocument.decode(before, path: try key.path(), upTo: past) { try body(document) }
            return true
        }
    }

    /// What the first change of a document after a version replaced.
    private func firstReplaced(
        _ path: DocumentPath, _ key: [UInt8], after version: Int64, upTo last: Int64?
    ) throws -> [UInt8]? {
        let row: [UInt8]?
        if let lookup {
            row = try lookup.firstRow(path, key, after: version, upTo: last, in: self)
        } else {
            row = try ChangeLog.firstRows([key], after: version, upTo: last, in: storage)[key]
        }
        guard let row, let value = try storage.get(.changes, row) else { return nil }
        return try ChangeLog.images(value).before
    }
}

/// How far the way back to an earlier state of a document led.
enum PastStep {
    /// Nil where there was no document.
    case found([UInt8]?)
    /// The first change since then has to be looked for in the log; there is none after the version.
    case scan(upTo: Int64?)
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
