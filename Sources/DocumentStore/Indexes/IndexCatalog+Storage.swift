import StorageEngine
import DocumentModel

extension IndexCatalog {
    private static let key = Array("indexes".utf8)

    /// The catalog of a state whose version names this generation. A catalog is stored only after the first change.
    ///
    /// - Throws: `StorageError` if it is damaged.
    static func read(_ storage: any StorageReader, generation: Int64) throws -> IndexCatalog {
        guard let bytes = try storage.get(.meta, key) else {
            guard generation == 0 else { throw StoredIndexes.damaged("the catalog of indexes is missing") }
            return IndexCatalog()
        }
        let catalog = try StoredIndexes.open(bytes, "the catalog of indexes") { reader throws(DecodingFailure) in
            IndexCatalog(
                generation: try reader.signed(), nextID: UInt32(truncatingIfNeeded: try reader.varint()),
                indexes: try reader.list { reader throws(DecodingFailure) in try Index(from: &reader) },
                fields: try reader.list { reader throws(DecodingFailure) in try Fields(from: &reader) },
                isRebuilding: try reader.bool())
        }
        // Each change counts both up.
        guard (0...Int64.max / 2).contains(catalog.generation), catalog.nextID <= .max / 2 else {
            throw StoredIndexes.damaged("the catalog of indexes has numbers that no store reaches")
        }
        guard catalog.generation == generation else {
            throw StoredIndexes.damaged("the catalog of indexes is not the one that the store's version names")
        }
        return catalog
    }

    /// Stores the catalog; the version's row must name its generation in the same batch.
    func write(to storage: any StorageWriter) throws {
        let bytes = StoredIndexes.seal { writer in
            writer.write(signed: generation)
            writer.write(varint: UInt64(nextID))
            writer.write(indexes) { $1.write(to: &$0) }
            writer.write(fields) { $1.write(to: &$0) }
            writer.write(isRebuilding)
        }
        try storage.put(.meta, Self.key, bytes)
    }
}

extension IndexCatalog.Index {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        id = UInt32(truncatingIfNeeded: try reader.varint())
        guard let state = IndexCatalog.State(rawValue: try reader.byte()) else {
            throw DecodingFailure("an index has an unknown state")
        }
        self.state = state
        let collectionID = try reader.string()
        let scope: IndexDefinition.Scope = try reader.bool() ? .collectionGroup : .collection
        let fields = try reader.list { reader throws(DecodingFailure) in
            let path = try reader.fieldPath()
            let kinds: [IndexDefinition.Kind] = [.ascending, .descending, .contains]
            let kind = Int(try reader.byte())
            guard kind < kinds.count else { throw DecodingFailure("an index has a field of an unknown kind") }
            return IndexDefinition.Field(path, kinds[kind])
        }
        definition = IndexDefinition(collectionID: collectionID, scope: scope, fields: fields)
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(varint: UInt64(id))
        writer.write(byte: state.rawValue)
        writer.write(definition.collectionID)
        writer.write(definition.scope == .collectionGroup)
        writer.write(definition.fields) { writer, field in
            writer.write(field.path)
            writer.write(byte: field.kind == .ascending ? 0 : field.kind == .descending ? 1 : 2)
        }
    }
}

extension IndexCatalog.Fields {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        let collectionID = try reader.string()
        func exemptions(_ reader: inout ByteReader) throws(DecodingFailure) -> [FieldExemption] {
            try reader.list { reader throws(DecodingFailure) in
                let field = try reader.optional { reader throws(DecodingFailure) in try reader.fieldPath() }
                // The rules recurse along it.
                guard field.map({ $0.segments.count <= 100 }) ?? true else {
                    throw DecodingFailure("an exemption's field is nested too deep")
                }
                return FieldExemption(
                    collectionID: collectionID, field: field, isOrdered: try reader.bool(),
                    hasElements: try reader.bool())
            }
        }
        self.init(
            collectionID: collectionID, exemptions: try exemptions(&reader),
            earlier: try reader.list { reader throws(DecodingFailure) in try exemptions(&reader) })
    }

    fileprivate func write(to writer: inout ByteWriter) {
        func write(_ exemptions: [FieldExemption], to writer: inout ByteWriter) {
            writer.write(exemptions) { writer, exemption in
                writer.write(optional: exemption.field) { $0.write($1) }
                writer.write(exemption.isOrdered)
                writer.write(exemption.hasElements)
            }
        }
        writer.write(collectionID)
        write(exemptions, to: &writer)
        writer.write(earlier) { write($1, to: &$0) }
    }
}
