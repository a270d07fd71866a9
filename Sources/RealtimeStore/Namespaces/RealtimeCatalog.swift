import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// All namespaces of one state. A snapshot names the generation of its catalog.
struct RealtimeCatalog: Sendable {
    var generation: Int64
    var namespaces: [String: NamespaceRecord] = [:]
    /// The namespaces whose records can't be read. Nothing is known of where their rows are.
    private(set) var damaged: [String: DecodingFailure] = [:]
    /// The number of the next tree.
    var nextTree: UInt32 = 1

    /// - Throws: `DecodingFailure` if damage concerns more than one namespace, `StorageError`.
    static func read(_ storage: any StorageReader, generation: Int64) throws -> RealtimeCatalog {
        var catalog = RealtimeCatalog(generation: generation)
        func nameOf(_ key: [UInt8]) throws(DecodingFailure) -> String {
            guard let (texts, rest) = RowKind.texts(1, in: key), rest.isEmpty else {
                throw DecodingFailure("the name of a namespace can't be read")
            }
            return texts[0]
        }
        try storage.scan(
            .tree, RowKind.namespace.all,
            damaged: { key, error in catalog.damaged[try nameOf(key)] = DecodingFailure(error.message) }
        ) { key, value in
            let name = try nameOf(key)
            do throws(DecodingFailure) {
                catalog.namespaces[name] = try NamespaceRecord(stored: value, name)
            } catch {
                catalog.damaged[name] = error
            }
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

    /// What is kept of a namespace; nil if there is none.
    ///
    /// - Throws: `damaged` if it can't be read.
    func record(of namespace: String) throws(RealtimeFailure) -> NamespaceRecord? {
        if let damage = damaged[namespace] {
            throw RealtimeFailure(
                .damaged, "the database \"\(namespace)\" can't be read, the store is damaged: \(damage.reason)")
        }
        return namespaces[namespace]
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
        // What couldn't be read this time is read again.
        if catalog.damaged.isEmpty { add(catalog) }
        return catalog
    }
}
