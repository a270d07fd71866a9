import DocumentModel

/// How a document stands in its table: a format byte, both times in microseconds, the fields.
enum StoredDocument {
    private static let format: UInt8 = 1

    static func encode(_ document: Document) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 256)
        writer.write(byte: format)
        writer.write(fixed: UInt64(bitPattern: document.createTime.microseconds))
        writer.write(fixed: UInt64(bitPattern: document.updateTime.microseconds))
        writer.write(fields: document.fields)
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8], path: DocumentPath) throws(DecodingFailure) -> Document {
        var reader = ByteReader(bytes)
        guard try reader.byte() == format else { throw DecodingFailure("\(path) has an unknown format") }
        let created = Timestamp(microseconds: Int64(bitPattern: try reader.fixed()))
        let updated = Timestamp(microseconds: Int64(bitPattern: try reader.fixed()))
        let fields = try reader.fields()
        try reader.finish()
        return Document(path: path, fields: fields, createTime: created, updateTime: updated)
    }
}

/// The documents of a storage view, with some replaced by what they were before.
struct DocumentView {
    let storage: any StorageReader
    /// The indexes that the storage has.
    let catalog: IndexCatalog
    /// Documents as they were at an earlier version; nil where there was none.
    var past: [DocumentPath: Document?]

    init(_ storage: any StorageReader, _ catalog: IndexCatalog = IndexCatalog(), past: [DocumentPath: Document?] = [:])
    {
        self.storage = storage
        self.catalog = catalog
        self.past = past
    }

    /// As ``document(_:)``, for an answer that is bounded.
    func document(_ path: DocumentPath, within budget: inout ReadBudget) throws -> Document? {
        if let earlier = past[path] { return earlier }
        guard let bytes = try storage.get(.documents, DocumentKeys.key(of: path)) else { return nil }
        try budget.take(bytes.count)
        return try StoredDocument.decode(bytes, path: path)
    }

    func document(_ path: DocumentPath) throws -> Document? {
        if let earlier = past[path] { return earlier }
        return try storage.get(.documents, DocumentKeys.key(of: path)).map {
            try StoredDocument.decode($0, path: path)
        }
    }
}
