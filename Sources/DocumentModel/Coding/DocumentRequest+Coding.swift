extension DocumentRequest {
    public var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 256)
        func write(_ transaction: TransactionID?) {
            writer.write(optional: transaction) { $0.write(fixed: $1.rawValue) }
        }
        switch self {
        case .get(let paths, let transaction):
            writer.write(byte: 1)
            writer.write(paths) { $0.write($1) }
            write(transaction)
        case .query(let query, let transaction):
            writer.write(byte: 2)
            writer.write(query)
            write(transaction)
        case .begin(.readWrite(let retrying)):
            writer.write(byte: 3)
            write(retrying)
        case .begin(.readOnly):
            writer.write(byte: 4)
        case .commit(let writes, let transaction, let result):
            writer.write(byte: 5)
            writer.write(writes) { $0.write($1) }
            write(transaction)
            writer.write(optional: result) { $0.write(blob: $1) }
        case .rollback(let transaction):
            writer.write(byte: 6)
            writer.write(fixed: transaction.rawValue)
        }
        return writer.bytes
    }

    public init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        switch try reader.byte() {
        case 1:
            let paths = try reader.list { reader throws(DecodingFailure) in try reader.path() }
            self = .get(paths, transaction: try reader.transaction())
        case 2:
            let query = try reader.query()
            self = .query(query, transaction: try reader.transaction())
        case 3: self = .begin(.readWrite(retrying: try reader.transaction()))
        case 4: self = .begin(.readOnly)
        case 5:
            let writes = try reader.list { reader throws(DecodingFailure) in try reader.write() }
            let transaction = try reader.transaction()
            let result = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
            self = .commit(writes, transaction: transaction, completing: result)
        case 6: self = .rollback(TransactionID(rawValue: try reader.fixed()))
        case let tag: throw DecodingFailure("no document operation has the tag \(tag)")
        }
        try reader.finish()
    }
}

extension ByteReader {
    fileprivate mutating func transaction() throws(DecodingFailure) -> TransactionID? {
        try optional { reader throws(DecodingFailure) in TransactionID(rawValue: try reader.fixed()) }
    }
}
