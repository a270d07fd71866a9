import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// All namespaces of one state. A snapshot names the generation of its catalog.
struct RealtimeCatalog: Sendable {
    var generation: Int64
    var namespaces: [String: NamespaceRecord] = [:]
    /// The number of the next tree.
    var nextTree: UInt32 = 1

    /// - Throws: `DecodingFailure` if a row is damaged, `StorageError`.
    static func read(_ storage: any StorageReader, generation: Int64) throws -> RealtimeCatalog {
        var catalog = RealtimeCatalog(generation: generation)
        try storage.scan(.tree, RowKind.namespace.all, reverse: false) { key, value in
            guard let name = RowKind.texts(1, in: key), name.rest.isEmpty else {
                throw DecodingFailure("the name of a namespace can't be read")
            }
            catalog.namespaces[name.texts[0]] = try NamespaceRecord(stored: value, name.texts[0])
            return true
        }
        if let bytes = try storage.get(.tree, RowKind.nextTree.key()) {
            var reader = ByteReader(bytes)
            guard let next = UInt32(exactly: try reader.varint()) else {
                throw DecodingFailure("the number of the next tree is too large")
            }
            try reader.finish()
            catalog.nextTree = next
        }
        return catalog
    }

    /// Stores what differs from an older catalog.
    func write(to storage: any StorageWriter, since old: RealtimeCatalog) throws {
        for (name, record) in namespaces where old.namespaces[name] != record {
            try storage.put(.tree, NamespaceRecord.key(name), record.stored(name))
        }
        for name in old.namespaces.keys where namespaces[name] == nil {
            try storage.delete(.tree, NamespaceRecord.key(name))
        }
        guard nextTree != old.nextTree else { return }
        var writer = ByteWriter(reservingCapacity: 5)
        writer.write(varint: UInt64(nextTree))
        try storage.put(.tree, RowKind.nextTree.key(), writer.bytes)
    }

    mutating func makeTree() -> UInt32 {
        defer { nextTree += 1 }
        return nextTree
    }
}

/// The last catalogs, which readers share.
final class CatalogCache: Sendable {
    private let catalogs = Mutex<[RealtimeCatalog]>([])
    private static let maxCount = 16

    func add(_ catalog: RealtimeCatalog) {
        catalogs.withLock { catalogs in
            guard !catalogs.contains(where: { $0.generation == catalog.generation }) else { return }
            catalogs.append(catalog)
            if catalogs.count > Self.maxCount { catalogs.removeFirst() }
        }
    }

    /// The catalog of a snapshot, which is read if readers don't have it yet.
    func catalog(of snapshot: Snapshot) throws -> RealtimeCatalog {
        let generation = snapshot.generations[RealtimeRows.self] ?? 0
        if let known = catalogs.withLock({ $0.last { $0.generation == generation } }) { return known }
        let catalog = try RealtimeCatalog.read(snapshot.storage, generation: generation)
        add(catalog)
        return catalog
    }
}
