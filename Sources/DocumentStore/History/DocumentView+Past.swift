import CommitPipeline
import StorageEngine
import DocumentModel

/// Reads an earlier state: unchanged documents come from the storage, changed ones from the log.
///
/// A document's update time says whether it has changed since. In the log, the first change since then is the one whose
/// earlier document isn't newer. So a read needs no extra memory, however much has changed.
extension DocumentView {
    private static let maxSteps = 16

    /// Whether this view sees a document in its stored state.
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

    /// Goes back from change to change; for most documents there are few.
    func walk(_ path: DocumentPath, _ key: [UInt8], to past: Int64) throws -> PastStep {
        var bytes: [UInt8]
        if let current = try storage.get(.documents, key) {
            bytes = current
        } else {
            guard let newest = lookup?.newest(of: path) else { return .scan(upTo: nil) }
            guard newest > past else { return .found(nil) }
            guard let before = try ChangeLog.images(of: key, at: newest, in: storage)?.before else {
                return .scan(upTo: newest)
            }
            bytes = before
        }
        for _ in 0..<Self.maxSteps {
            let version = try StoredDocument.updateTime(bytes, path: path)
            if version <= past { return .found(bytes) }
            guard let change = try ChangeLog.images(of: key, at: version, in: storage) else {
                throw DecodingFailure("the change log lacks the change of a document at \(version)")
            }
            // This change created the document; an earlier document at the path may have been deleted before.
            guard let before = change.before else { return version - 1 > past ? .scan(upTo: version - 1) : .found(nil) }
            bytes = before
        }
        let version = try StoredDocument.updateTime(bytes, path: path)
        return version <= past ? .found(bytes) : .scan(upTo: version)
    }

    /// The earlier states of documents that a query covers and that were changed or deleted since.
    func forEachReplaced(_ query: NormalizedQuery, _ meter: QueryMeter, _ body: (Document) throws -> Void) throws {
        guard let past else { return }
        var range = ChangeLog.range(after: past)
        if let lookup {
            guard let span = lookup.span(of: query, after: past) else { return }
            range = ChangeLog.range(after: span.lowerBound - 1, upTo: span.upperBound)
        }
        try forEachReplaced(CoverFilter(query), in: range, meter, body)
    }

    /// The same for all documents that a filter covers.
    func forEachReplaced(_ filter: CoverFilter, _ meter: QueryMeter, _ body: (Document) throws -> Void) throws {
        guard let past else { return }
        try forEachReplaced(filter, in: ChangeLog.range(after: past), meter, body)
    }

    private func forEachReplaced(
        _ filter: CoverFilter, in range: KeyRange, _ meter: QueryMeter, _ body: (Document) throws -> Void
    ) throws {
        guard let past else { return }
        try ChangeLog.scanKeys(DocumentWriter.self, range, in: storage) { key in
            try meter.readEntries()
            guard filter.covers(key.recordKey) else { return true }
            guard let value = try storage.get(.changes, key.bytes) else {
                throw DecodingFailure("the change log lost a row")
            }
            guard let before = try ChangeLog.images(value).before else { return true }
            try meter.readDocument(before.count)
            if let document = try StoredDocument.decode(before, path: try key.path(), upTo: past) { try body(document) }
            return true
        }
    }

    /// The document that the first change after a version replaced.
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

/// The result of going back to an earlier state of a document.
enum PastStep {
    /// Nil if there was no document.
    case found([UInt8]?)
    /// The first change since then must be found in the log; it isn't after the version.
    case scan(upTo: Int64?)
}

/// Selects the document keys that a query covers, by their bytes.
struct CoverFilter {
    private let prefix: [UInt8]
    private let isGroup: Bool
    /// The end of the collection's part in a group's keys: the group's id with its terminators.
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

    /// Covers all documents below one, or all there are.
    init(below parent: DocumentPath?) {
        var start: [UInt8] = []
        if let parent { DocumentKeys.append(parent.string, to: &start) }
        (prefix, isGroup, group) = (start, false, [])
    }

    /// Covers all documents with such keys.
    init(prefix: [UInt8]) { (self.prefix, isGroup, group) = (prefix, false, []) }

    func covers(_ key: ArraySlice<UInt8>) -> Bool {
        guard key.starts(with: prefix) else { return false }
        guard isGroup else { return true }
        // The collection's id precedes the key's last 0: it is between the 0 before that and the one before.
        guard let end = key.lastIndex(of: 0) else { return false }
        let collection = key[key.startIndex...end]
        guard collection.count >= group.count, collection.suffix(group.count).elementsEqual(group) else { return false }
        let rest = collection.dropLast(group.count)
        return rest.isEmpty || rest.last == 0
    }
}
