import CommitPipeline
import StorageEngine
import DocumentModel

/// The counts and findings of a check of documents.
struct DocumentCheckResult: Hashable, Sendable {
    var documents = 0
    var entries = 0
    /// Whether there are problems that recreating the indexes repairs.
    var isRepairable = false
    /// Whether index entries weren't checked because indexes were being built.
    var skippedIndexes = false
}

/// Checks the documents, their index entries and their rows in the change log, and compares them with each other.
///
/// It keeps nothing in memory on the way, so that a store of any size can be checked.
struct DocumentCheck {
    private static let documentsBetweenTellings = 1000

    private let run: CheckRun
    private let catalog: IndexCatalog
    private let floor: Int64
    private(set) var result = DocumentCheckResult()
    /// The number of entries that the readable documents should have, and how many of those are missing.
    private var expectedEntries = 0
    private var missingEntries = 0
    private var unreadable = 0

    init(_ run: CheckRun) throws {
        self.run = run
        let indexes = try IndexMaintenance(run.storage)
        catalog = indexes.catalog
        result.skippedIndexes = indexes.hasWork
        floor = try HistoryBounds.read(run.storage)?.floor ?? run.version
    }

    mutating func check() throws {
        try run.part("the documents") { try checkDocuments() }
        if !result.skippedIndexes { try run.part("the index entries") { try checkNumberOfEntries() } }
        try run.part("the changes of documents") { try checkChanges() }
    }

    private var storage: any StorageReader { run.storage }
    private var version: Int64 { run.version }

    private mutating func note(_ problem: String, repairable: Bool = false) throws {
        if repairable { result.isRepairable = true }
        try run.note(problem)
    }

    // MARK: Documents and their entries

    private mutating func checkDocuments() throws {
        let total: Int?
        do {
            total = try storage.count(.documents, .all)
        } catch let error as StorageError where error.kind == .damaged {
            // What comes before the damage can be checked.
            total = nil
        }
        var check = self
        defer { self = check }
        func damaged(_ key: [UInt8], _ error: StorageError) throws {
            check.result.documents += 1
            check.unreadable += 1
            try check.note("the document \"\(DocumentKeys.path(of: key))\" can't be read: \(error.message)")
        }
        try storage.scan(.documents, .all, damaged: damaged) { key, bytes in
            try check.checkDocument(key, bytes)
            if check.result.documents % Self.documentsBetweenTellings == 0 {
                try check.run.advance(to: WorkProgress(done: check.result.documents, total: total))
            }
            return true
        }
        try run.advance(to: WorkProgress(done: check.result.documents, total: total))
    }

    private mutating func checkDocument(_ key: [UInt8], _ bytes: [UInt8]) throws {
        result.documents += 1
        let name = DocumentKeys.path(of: key)
        let document: Document
        do {
            let path = try DocumentPath(name)
            guard DocumentKeys.key(of: path) == key else { throw DecodingFailure("its key is not the one of its name") }
            document = try StoredDocument.decode(bytes, path: path)
        } catch {
            unreadable += 1
            let reason = (error as? DecodingFailure)?.reason ?? (error as? DocumentError)?.message ?? "\(error)"
            return try note("the document \"\(name)\" can't be read: \(reason)")
        }
        let (created, updated) = (document.createTime.microseconds, document.updateTime.microseconds)
        if created > updated || updated > version || !document.createTime.isInRange {
            try note(
                "the document \"\(name)\" was created at \(document.createTime) and changed at \(document.updateTime), "
                    + "and the store's last commit was at \(Timestamp(microseconds: version))")
        }
        if updated > floor, try loggedAfter(key, updated) != .some(bytes) {
            try note("the change of \"\(name)\" at \(document.updateTime) is not in the log as it is in the store")
        }
        guard !result.skippedIndexes else { return }
        for entry in IndexEntries.all(of: document, catalog) {
            expectedEntries += 1
            let found: [UInt8]?
            do {
                found = try storage.get(.index, entry.key)
            } catch let error as StorageError where error.kind == .damaged {
                missingEntries += 1
                try note("an index entry of \"\(name)\" can't be read: \(error.message)")
                continue
            }
            guard let row = found else {
                missingEntries += 1
                try note("the document \"\(name)\" lacks an index entry", repairable: true)
                continue
            }
            if row != entry.row { try note("an index entry of \"\(name)\" is wrong", repairable: true) }
        }
    }

    /// The document after the change of a version; nil if the change isn't in the log.
    private func loggedAfter(_ key: [UInt8], _ version: Int64) throws -> [UInt8]? {
        do {
            return try ChangeLog.images(of: key, at: version, in: storage)?.after
        } catch is DecodingFailure {
            return nil
        } catch let error as StorageError where error.kind == .damaged {
            return nil
        }
    }

    // MARK: Entries without a document

    private mutating func checkNumberOfEntries() throws {
        result.entries = try storage.count(.index, .all)
        // If some documents can't be read, it is unknown which entries are left over.
        let stray = result.entries - (expectedEntries - missingEntries)
        guard stray > 0, unreadable == 0, !run.isCutOff else { return }
        var check = self
        var left = stray
        try storage.scan(.index, .all, reverse: false) { key, row in
            guard let what = try check.stray(key, row) else { return true }
            try check.note(what, repairable: true)
            left -= 1
            return left > 0
        }
        self = check
    }

    /// What is wrong with an entry that belongs to no document; nil if it belongs to one.
    private func stray(_ key: [UInt8], _ row: [UInt8]) throws -> String? {
        guard let entry = try? IndexEntry(key: key, row: row), let name = documentName(of: entry),
            let path = try? DocumentPath(name)
        else { return "an index entry names no document" }
        guard let bytes = try storage.get(.documents, DocumentKeys.key(of: path)) else {
            return "there is an index entry of \"\(name)\", which doesn't exist"
        }
        let entries = IndexEntries.all(of: try StoredDocument.decode(bytes, path: path), catalog)
        return entries.contains { $0.key == key }
            ? nil : "there is an index entry of \"\(name)\" that it shouldn't have"
    }

    private func documentName(of entry: IndexEntry) -> String? {
        func inCollection(_ start: Int) -> String? {
            // A collection's path ends with two zeros, and nothing else does.
            let rest = entry.key.dropFirst(start)
            guard let end = zip(rest.indices, rest.indices.dropFirst()).first(where: { rest[$0] == 0 && rest[$1] == 0 })
            else { return nil }
            return DocumentKeys.text(of: rest[..<end.1]) + "/" + entry.documentText
        }
        switch entry.key.first {
        case 1, 3: return inCollection(1)
        case 5: return entry.documentText
        case 7:
            let id = entry.key.dropFirst().prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            guard let index = catalog.indexes.first(where: { $0.id == id }) else { return nil }
            guard index.definition.scope == .collectionGroup else { return inCollection(5) }
            let text = entry.documentText
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        default: return nil
        }
    }

    // MARK: Changes

    private func checkChanges() throws {
        try storage.scan(.changes, .all, reverse: false) { key, value in
            // The pipeline's check reports keys and values that can't be read.
            guard let key = try? ChangeLog.Key(key), key.kind == DocumentWriter.id,
                (try? ChangeLog.images(value)) != nil
            else { return true }
            do {
                _ = try ChangeLog.change(key, value)
            } catch let error as DecodingFailure {
                try run.note("a row of the change log is wrong: \(error.reason)")
            }
            return true
        }
    }
}
