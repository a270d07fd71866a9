import DocumentModel
import StorageEngine

/// The documents below a document, or all of them, in the order of their paths: a document comes before those below it.
///
/// In the table, the documents of a collection are adjacent, and those below them come later. Each step looks for the
/// next key in at most a few places, so its cost doesn't depend on what else is stored.
struct DescendantWalk {
    /// A path's segments below the start, each as in keys and without terminator.
    typealias Segments = [[UInt8]]

    struct Found {
        var segments: Segments
        var key: [UInt8]
        var stored: [UInt8]
    }

    private let storage: any StorageReader
    private let start: [UInt8]

    /// - Parameter parent: nil for all documents.
    init(below parent: DocumentPath?, in storage: any StorageReader) {
        self.storage = storage
        var start: [UInt8] = []
        if let parent { DocumentKeys.append(parent.string, to: &start) }
        self.start = start
    }

    /// The segments of a path below the start; nil for any other path.
    func segments(of path: DocumentPath) -> Segments? {
        var key: [UInt8] = []
        DocumentKeys.append(path.string, to: &key)
        guard key.count > start.count, key.starts(with: start) else { return nil }
        return key[start.count...].split(separator: 0).map(Array.init)
    }

    /// The document at a place, or the next one.
    func first(from segments: Segments) throws -> Found? {
        let key = prefix(segments.dropLast()) + [0] + (segments.last ?? [])
        if !segments.isEmpty, let stored = try storage.get(.documents, key) {
            return Found(segments: segments, key: key, stored: stored)
        }
        return try next(after: segments)
    }

    /// The next document after a place, where there need not be a document.
    ///
    /// - Parameter segments: an even number; none for the start.
    func next(after segments: Segments) throws -> Found? {
        if let found = try first(below: segments) { return found }
        var place = segments
        while !place.isEmpty {
            let id = place.removeLast()
            if let found = try first(inCollection: place, after: id) { return found }
            let collection = prefix(place)
            place.removeLast()
            guard let lower = KeyBytes.successor(ofPrefix: collection) else { continue }
            if let sibling = try segment(from: lower, below: place),
                let found = try first(inCollection: place + [sibling], after: nil)
            {
                return found
            }
        }
        return nil
    }

    private func first(below document: Segments) throws -> Found? {
        // A segment never starts with 0.
        guard let collection = try segment(from: prefix(document) + [1], below: document) else { return nil }
        return try first(inCollection: document + [collection], after: nil)
    }

    /// - Parameter id: nil to begin with the first.
    private func first(inCollection collection: Segments, after id: [UInt8]?) throws -> Found? {
        let prefix = prefix(collection)
        // Nothing lies between an id and itself with a zero.
        let document = try row(
            KeyRange(lower: prefix + [0] + (id.map { $0 + [0] } ?? []), upper: prefix + [1]))
        let ownID = document.map { Array($0.key[(prefix.count + 1)...]) }
        let lower = id.flatMap { KeyBytes.successor(ofPrefix: prefix + $0 + [0]) } ?? prefix + [1]
        // There may be documents below an id that has none itself.
        if let parent = try segment(from: lower, below: collection),
            ownID.map({ parent.lexicographicallyPrecedes($0) }) ?? true
        {
            return try first(below: collection + [parent])
        }
        guard let document, let ownID else { return nil }
        return Found(segments: collection + [ownID], key: document.key, stored: document.stored)
    }

    /// The next segment of the first key from a bound on that begins with a place.
    private func segment(from lower: [UInt8], below place: Segments) throws -> [UInt8]? {
        let prefix = prefix(place)
        let found = try row(KeyRange(lower: lower, upper: KeyBytes.successor(ofPrefix: prefix)))
        return found.map { Array($0.key[prefix.count...].prefix { $0 != 0 }) }
    }

    private func row(_ range: KeyRange) throws -> (key: [UInt8], stored: [UInt8])? {
        var found: (key: [UInt8], stored: [UInt8])?
        try storage.scan(.documents, range, reverse: false) { key, stored in
            found = (key, stored)
            return false
        }
        return found
    }

    private func prefix(_ segments: some Sequence<[UInt8]>) -> [UInt8] {
        segments.reduce(into: start) { $0 += $1 + [0] }
    }
}
