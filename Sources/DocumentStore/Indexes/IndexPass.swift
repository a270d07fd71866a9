import StorageEngine
import DocumentModel

/// The progress of work on documents' index entries: one pass over the documents, from the first to the last.
///
/// Stored with each batch of entries, so that the pass continues when the store is next opened.
struct IndexPass: Hashable, Sendable {
    enum Scope: Hashable, Sendable {
        /// The collections of an id.
        case collections(String)
        /// All documents: entries are recreated.
        case everything
    }

    enum Stage: UInt8, Hashable, Sendable {
        /// For all documents: the entries of groups, on which the other stages depend.
        case groups = 1, strayGroups
        /// For all documents: all other entries are removed.
        case removal
        case documents
        /// The documents of the id that are below other documents.
        case nestedDocuments
    }

    var scope: Scope
    var stage: Stage
    /// The indexes that have all documents once the pass has ended.
    var indexes: Set<UInt32>
    /// The collections whose field entries are up to date once the pass has ended.
    var fields: Set<CollectionID>
    /// The last key that was processed, or in a removal the next one; empty at the beginning of a stage.
    var position: [UInt8] = []
    /// How many documents were processed.
    var documents = 0

    /// The next pass for a catalog; nil if no work is left.
    static func next(for catalog: IndexCatalog) -> IndexPass? {
        if catalog.isRebuilding {
            return IndexPass(
                scope: .everything, stage: .groups,
                indexes: Set(catalog.indexes.filter { $0.state == .building }.map(\.id)),
                fields: Set(catalog.fields.map { CollectionID($0.collectionID) }))
        }
        let building = catalog.indexes.filter { $0.state == .building }
        let unsettled = catalog.fields.filter { !$0.isSettled }
        guard let id = building.first?.definition.collectionID ?? unsettled.first?.collectionID else { return nil }
        let collection = CollectionID(id)
        return IndexPass(
            scope: .collections(id), stage: .documents,
            indexes: Set(building.filter { CollectionID($0.definition.collectionID) == collection }.map(\.id)),
            fields: Set(unsettled.map { CollectionID($0.collectionID) }).intersection([collection]))
    }

    /// Leaves out indexes and fields that a later configuration drops or changes: another pass handles those.
    func without(_ changes: IndexCatalog.Changes) -> IndexPass? {
        var rest = self
        rest.indexes.subtract(changes.dropped.map(\.id))
        rest.fields.subtract(changes.collections.map(CollectionID.init))
        return rest.scope != .everything && rest.indexes.isEmpty && rest.fields.isEmpty ? nil : rest
    }
}

extension IndexPass {
    private static let key = Array("indexes.pass".utf8)

    static func read(_ storage: any StorageReader) throws -> IndexPass? {
        guard let bytes = try storage.get(.meta, key) else { return nil }
        return try StoredIndexes.open(bytes, "the note of how far indexes are built") {
            reader throws(DecodingFailure) in
            let collection = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
            guard let stage = Stage(rawValue: try reader.byte()) else { throw DecodingFailure("unknown stage") }
            let indexes = try reader.list { reader throws(DecodingFailure) in
                UInt32(truncatingIfNeeded: try reader.varint())
            }
            let fields = try reader.list { reader throws(DecodingFailure) in CollectionID(try reader.string()) }
            let position = try reader.blob()
            let documents = try reader.signed()
            guard (0...Int64.max / 2).contains(documents) else { throw DecodingFailure("it has an unlikely count") }
            return IndexPass(
                scope: collection.map { .collections($0) } ?? .everything, stage: stage, indexes: Set(indexes),
                fields: Set(fields), position: position, documents: Int(documents))
        }
    }

    static func write(_ pass: IndexPass?, to storage: any StorageWriter) throws {
        guard let pass else { return try storage.delete(.meta, key) }
        let bytes = StoredIndexes.seal { writer in
            var collection: String?
            if case .collections(let id) = pass.scope { collection = id }
            writer.write(optional: collection) { $0.write($1) }
            writer.write(byte: pass.stage.rawValue)
            writer.write(pass.indexes.sorted()) { $0.write(varint: UInt64($1)) }
            writer.write(pass.fields.map(\.text).sorted()) { $0.write($1) }
            writer.write(blob: pass.position)
            writer.write(signed: Int64(pass.documents))
        }
        try storage.put(.meta, key, bytes)
    }
}
