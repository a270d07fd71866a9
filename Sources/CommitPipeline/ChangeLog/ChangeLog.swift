package import StorageEngine
package import DocumentModel

/// The change log: each record's stored bytes before and after a commit, under the commit's version. A record is what a
/// kind of data keeps under one key, such as a document.
///
/// A key is the version (8 bytes), the record's key and the value's size (4 bytes). Rows are therefore in commit order,
/// one seek finds one record of a commit, and rows can be removed and counted without reading their values.
///
/// All kinds of data share the log, and each reads its own rows only. Record keys of the first kind (whose id is 0)
/// never begin with a 0 byte; those of any other kind begin with 0 and the kind's id.
package enum ChangeLog {
    /// One row's key.
    package struct Key {
        package let bytes: [UInt8]

        /// - Throws: `DecodingFailure` for a key that this program didn't write.
        package init(_ bytes: [UInt8]) throws(DecodingFailure) {
            guard bytes.count > 12, bytes[8] != 0 || bytes.count > 13 else {
                throw DecodingFailure("a key of the change log is too short")
            }
            self.bytes = bytes
            guard StoreVersion.isCommitTime(version) else {
                throw DecodingFailure(
                    "a key of the change log has the version \(version), which is not a commit's time")
            }
        }

        package var version: Int64 {
            Int64(bitPattern: bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
        package var recordKey: ArraySlice<UInt8> { bytes[8..<bytes.count - 4] }
        /// The id of the kind of data that the record belongs to.
        package var kind: UInt8 { bytes[8] == 0 ? bytes[9] : 0 }
        /// Bytes of the row: key and value.
        package var size: Int { bytes.count + bytes[(bytes.count - 4)...].reduce(0) { $0 << 8 | Int($1) } }
    }

    private static let format: UInt8 = 1

    /// The key under which the log has a record of a kind.
    ///
    /// - Parameter key: of the first kind, doesn't begin with a 0 byte.
    package static func recordKey(_ key: [UInt8], of kind: any DataKind.Type) -> [UInt8] {
        guard kind.id == 0 else { return [0, kind.id] + key }
        precondition(key.first != 0, "the change log takes the record for another kind's")
        return key
    }

    /// Appends one change.
    ///
    /// - Returns: the number of bytes by which the log grew.
    package static func append(
        version: Int64, recordKey: [UInt8], before: [UInt8]?, after: [UInt8]?, to storage: any StorageWriter
    ) throws -> Int {
        var value = ByteWriter(reservingCapacity: (before?.count ?? 0) + (after?.count ?? 0) + 8)
        value.write(byte: format)
        value.write(optional: before) { $0.write(blob: $1) }
        value.write(optional: after) { $0.write(blob: $1) }
        var key: [UInt8] = []
        key.reserveCapacity(recordKey.count + 12)
        KeyBytes.append(UInt64(bitPattern: version), to: &key)
        key += recordKey
        let size = value.bytes.count
        for shift in stride(from: 24, through: 0, by: -8) { key.append(UInt8(truncatingIfNeeded: size >> shift)) }
        try storage.put(.changes, key, value.bytes)
        return key.count + size
    }

    /// The stored bytes in a row's value.
    package static func images(_ value: [UInt8]) throws(DecodingFailure) -> (before: [UInt8]?, after: [UInt8]?) {
        var reader = ByteReader(value)
        guard try reader.byte() == format else { throw DecodingFailure("the change log has an unknown format") }
        let before = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
        let after = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
        try reader.finish()
        return (before, after)
    }

    /// All rows of commits after one version; if `last` is given, only those up to it.
    package static func range(after version: Int64, upTo last: Int64? = nil) -> KeyRange {
        // What follows the largest version is behind all keys.
        KeyRange(lower: bound(version &+ 1), upper: last.map { bound($0 &+ 1) })
    }

    /// The stored bytes of a record before and after its change with this version; nil if there is no such change.
    package static func images(
        of recordKey: [UInt8], at version: Int64, in storage: any StorageReader
    ) throws -> (before: [UInt8]?, after: [UInt8]?)? {
        var row: [UInt8]?
        // A size begins with a 0 byte, and few longer keys continue with one.
        try storage.scan(
            .changes, KeyRange(prefix: bound(version) + recordKey + [0]), reverse: false
        ) { key, value in
            guard try Key(key).recordKey.elementsEqual(recordKey) else { return true }
            row = value
            return false
        }
        return try row.map { try images($0) }
    }

    /// Visits the rows of a kind until the body returns false. The rows of other kinds are skipped.
    package static func scan(
        _ kind: any DataKind.Type, _ range: KeyRange, in storage: any StorageReader,
        _ body: (Key, [UInt8]) throws -> Bool
    ) throws {
        let id = kind.id
        try storage.scan(.changes, range, reverse: false) { bytes, value in
            let key = try Key(bytes)
            return try key.kind == id ? body(key, value) : true
        }
    }

    /// Visits the keys of a kind's rows as ``scan(_:_:in:_:)`` does, without loading their values.
    package static func scanKeys(
        _ kind: any DataKind.Type, _ range: KeyRange, in storage: any StorageReader, _ body: (Key) throws -> Bool
    ) throws {
        let id = kind.id
        try storage.scanKeys(.changes, range, reverse: false) { bytes in
            let key = try Key(bytes)
            return try key.kind == id ? body(key) : true
        }
    }

    /// The rows of the first changes of some records after a version, by record key. One scan finds them all.
    ///
    /// - Parameter visit: called with each row that is looked at; an error that it throws ends the scan.
    package static func firstRows(
        _ recordKeys: Set<[UInt8]>, after version: Int64, upTo last: Int64?, in storage: any StorageReader,
        visit: () throws -> Void = {}
    ) throws -> [[UInt8]: [UInt8]] {
        var rows: [[UInt8]: [UInt8]] = [:]
        try storage.scanKeys(.changes, range(after: version, upTo: last), reverse: false) { bytes in
            try visit()
            let key = Array(try Key(bytes).recordKey)
            if recordKeys.contains(key), rows[key] == nil { rows[key] = bytes }
            return rows.count < recordKeys.count
        }
        return rows
    }

    private static func bound(_ version: Int64) -> [UInt8] {
        var key: [UInt8] = []
        KeyBytes.append(UInt64(bitPattern: version), to: &key)
        return key
    }
}
