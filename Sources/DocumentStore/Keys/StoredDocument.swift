import StorageEngine
import DocumentModel

/// The format of a document in its table: a format byte, both times in microseconds, the fields, and a checksum over
/// all of these and the document's name.
enum StoredDocument {
    private static let format: UInt8 = 2
    /// Without a checksum, as the first versions wrote it.
    private static let unsummedFormat: UInt8 = 1
    private static let sumBytes = 4

    /// The fields as they are stored, before the times of the commit are known.
    struct Draft: Sendable {
        private let fields: [UInt8]

        init(_ fields: [String: Value]) {
            var writer = ByteWriter(reservingCapacity: 256)
            writer.write(fields: fields)
            self.fields = writer.bytes
        }

        var count: Int { fields.count }

        /// - Parameter document: has these fields.
        func encode(as document: Document) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(1 + 2 * 8 + fields.count + sumBytes)
            bytes.append(format)
            KeyBytes.append(UInt64(bitPattern: document.createTime.microseconds), to: &bytes)
            KeyBytes.append(UInt64(bitPattern: document.updateTime.microseconds), to: &bytes)
            bytes += fields
            let sum = bytes.withUnsafeBytes { StoredChecksum.of($0, name: document.path.string) }
            for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: sum >> shift)) }
            return bytes
        }
    }

    static func encode(_ document: Document) -> [UInt8] { Draft(document.fields).encode(as: document) }

    /// - Parameter names: those of the fields at the top that are wanted; nil for all.
    static func decode(
        _ bytes: [UInt8], path: DocumentPath, fields names: Set<String>? = nil
    ) throws(DecodingFailure) -> Document {
        try document(try content(bytes, path), path, names)
    }

    /// The document; nil if it changed after a version.
    static func decode(
        _ bytes: [UInt8], path: DocumentPath, upTo version: Int64, fields names: Set<String>? = nil
    ) throws(DecodingFailure) -> Document? {
        let content = try content(bytes, path)
        return try updateTime(content, path) <= version ? try document(content, path, names) : nil
    }

    /// Only the update time, in microseconds.
    static func updateTime(_ bytes: [UInt8], path: DocumentPath) throws(DecodingFailure) -> Int64 {
        try updateTime(try content(bytes, path), path)
    }

    private static func updateTime(
        _ content: ArraySlice<UInt8>, _ path: DocumentPath
    ) throws(DecodingFailure) -> Int64 {
        guard content.count >= 17 else { throw DecodingFailure("\(path) has no times") }
        return Int64(bitPattern: content.dropFirst(9).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private static func document(
        _ content: ArraySlice<UInt8>, _ path: DocumentPath, _ names: Set<String>?
    ) throws(DecodingFailure) -> Document {
        var reader = ByteReader(content)
        _ = try reader.byte()
        let created = Timestamp(microseconds: Int64(bitPattern: try reader.fixed()))
        let updated = Timestamp(microseconds: Int64(bitPattern: try reader.fixed()))
        let fields = if let names { try reader.fields(named: names) } else { try reader.fields() }
        try reader.finish()
        return Document(path: path, fields: fields, createTime: created, updateTime: updated)
    }

    /// Everything except the checksum, which is verified.
    private static func content(_ bytes: [UInt8], _ path: DocumentPath) throws(DecodingFailure) -> ArraySlice<UInt8> {
        switch bytes.first {
        case unsummedFormat: return bytes[...]
        case format where bytes.count > sumBytes:
            let content = bytes.dropLast(sumBytes)
            let sum = content.withUnsafeBytes { StoredChecksum.of($0, name: path.string) }
            guard bytes.suffix(sumBytes).reduce(UInt32(0), { $0 << 8 | UInt32($1) }) == sum else {
                throw DecodingFailure("\(path) is not as it was written: its checksum is another")
            }
            return content
        default: throw DecodingFailure("\(path) has an unknown format")
        }
    }
}

/// The documents of a storage view, in its own state or that of an earlier version.
struct DocumentView {
    let storage: any StorageReader
    /// The indexes of the storage's state.
    let catalog: IndexCatalog
    /// The version whose state is seen; nil for the storage's own state.
    let past: Int64?
    /// The recent changes in memory, which save reading the log for the past.
    let lookup: PastLookup?

    init(
        _ storage: any StorageReader, _ catalog: IndexCatalog = IndexCatalog(), at past: Int64? = nil,
        _ lookup: PastLookup? = nil
    ) {
        self.storage = storage
        self.catalog = catalog
        self.past = past
        self.lookup = lookup
    }

    /// As ``document(_:)``, for a response with a limited size.
    func document(_ path: DocumentPath, within budget: inout ReadBudget) throws -> Document? {
        let document = try document(path)
        try budget.take(document, at: path)
        return document
    }

    func document(_ path: DocumentPath, _ meter: QueryMeter) throws -> Document? {
        guard let bytes = try stored(path) else {
            try meter.readEntries()
            return nil
        }
        try meter.readDocument(bytes.count)
        return try StoredDocument.decode(bytes, path: path)
    }

    func document(_ path: DocumentPath) throws -> Document? {
        try stored(path).map { try StoredDocument.decode($0, path: path) }
    }
}
