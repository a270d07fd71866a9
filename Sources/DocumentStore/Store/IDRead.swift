import CommitPipeline
import StorageEngine
package import DocumentModel

extension ListedIDs {
    /// The common start of the keys of what is below.
    fileprivate var prefix: [UInt8] {
        var key: [UInt8] = []
        switch self {
        case .collections(let parent): if let parent { DocumentKeys.append(parent.string, to: &key) }
        case .parents(let collection): DocumentKeys.append(collection.string, to: &key)
        }
        return key
    }
}

/// A page of ids, in order.
struct IDRead: DocumentRead {
    let store: DocumentStore
    let place: ListedIDs
    let after: String?
    let limit: Int
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<[String]>

    var caller: ReadCaller? { .maintenance }
    var readTime: Timestamp? { consistency.time }

    func answer(from view: DocumentView, version: Int64) throws -> [String]? {
        guard context.policy == nil else {
            throw DocumentError(.permissionDenied, "Missing or insufficient permissions.")
        }
        // A transaction depends on documents, not on ids.
        guard let state = try store.state(consistency, ReadSet(), context, view, version, check: { _, _ in }) else {
            return nil
        }
        return try IDListing(place, after: after, in: state.view, store.parts.meter(context)).page(atMost: limit)
    }

    func complete(_ result: Result<[String], DocumentError>) { completion(result) }
}

/// Each id is the next segment of a key.
struct IDListing {
    let view: DocumentView
    let meter: QueryMeter
    let prefix: [UInt8]
    /// The first key that counts.
    let lower: [UInt8]

    init(_ place: ListedIDs, after: String?, in view: DocumentView, _ meter: QueryMeter) {
        self.view = view
        self.meter = meter
        prefix = place.prefix
        // A segment never starts with 0, but the keys of a collection's own documents do: these have no segment more.
        var lower = prefix + [1]
        if let after {
            var key = prefix
            DocumentKeys.append(after, to: &key)
            lower = KeyBytes.successor(ofPrefix: key) ?? lower
        }
        self.lower = lower
    }

    func page(atMost limit: Int) throws -> [String] {
        var segments = try stored(atMost: limit)
        if view.past != nil {
            segments = Set(segments).union(try replaced()).sorted { $0.lexicographicallyPrecedes($1) }
        }
        return segments.prefix(limit).map { DocumentKeys.text(of: $0[...]) }
    }

    /// A page of the ids of a collection's documents, with those that have documents below them.
    ///
    /// - Precondition: The view is of the present.
    func pageWithDocuments(of collection: CollectionPath, after: String?, atMost limit: Int) throws -> [String] {
        let parents = try stored(atMost: limit)
        let documents = DocumentKeys.prefix(ofCollection: collection.string)
        var range = KeyRange(prefix: documents)
        if let after {
            DocumentKeys.appendOpen(after, to: &range.lower)
            // Nothing lies between a key and itself with a zero.
            range.lower.append(0)
        }
        var segments: [[UInt8]] = []
        try view.storage.scanKeys(.documents, range, reverse: false) { key in
            try meter.readEntries()
            segments.append(Array(key[documents.count...]))
            return segments.count < limit
        }
        return Set(segments + parents).sorted { $0.lexicographicallyPrecedes($1) }
            .prefix(limit).map { DocumentKeys.text(of: $0[...]) }
    }

    /// Those of documents that are stored as the view sees them.
    private func stored(atMost limit: Int) throws -> [[UInt8]] {
        var segments: [[UInt8]] = []
        var lower = lower
        let upper = KeyBytes.successor(ofPrefix: prefix)
        while segments.count < limit {
            var found: [UInt8]?
            try view.storage.scanKeys(.documents, KeyRange(lower: lower, upper: upper), reverse: false) { key in
                found = segment(of: key)
                return false
            }
            guard let segment = found else { break }
            let range = KeyRange(prefix: prefix + segment + [0])
            if try seesAny(in: range) { segments.append(segment) }
            guard let next = range.upper else { break }
            lower = next
        }
        return segments
    }

    private func seesAny(in range: KeyRange) throws -> Bool {
        guard let past = view.past else { return true }
        var isSeen = false
        try view.storage.scan(.documents, range, reverse: false) { key, stored in
            try meter.readDocument(stored.count)
            let path = try DocumentKeys.checkedPath(of: key)
            isSeen = try StoredDocument.updateTime(stored, path: path) <= past
            return !isSeen
        }
        return isSeen
    }

    /// Those of documents that were changed or deleted since.
    private func replaced() throws -> Set<[UInt8]> {
        var segments: Set<[UInt8]> = []
        try view.forEachReplaced(CoverFilter(prefix: prefix), meter) { document in
            let key = DocumentKeys.key(of: document.path)
            if !key.lexicographicallyPrecedes(lower) { segments.insert(segment(of: key)) }
        }
        return segments
    }

    private func segment(of key: [UInt8]) -> [UInt8] { Array(key[prefix.count...].prefix { $0 != 0 }) }
}

extension DocumentStore {
    /// - Parameters:
    ///   - after: begins after this id.
    package func ids(
        _ place: ListedIDs, after: String? = nil, atMost limit: Int, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<[String]>
    ) {
        submit(
            IDRead(
                store: self, place: place, after: after, limit: limit, consistency: consistency, context: context,
                completion: completion))
    }

    package func collectionIDs(
        below parent: DocumentPath?, in context: OperationContext, completion: @escaping Completion<[String]>
    ) {
        ids(.collections(below: parent), atMost: .max, .strong, in: context, completion: completion)
    }
}
