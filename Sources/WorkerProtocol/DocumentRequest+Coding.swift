package import DocumentModel
import UserModel

extension DocumentRequest {
    package var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 256)
        switch self {
        case .get(let paths, let consistency):
            writer.write(byte: 1)
            writer.write(paths) { $0.write($1) }
            writer.write(consistency)
        case .query(let query, let consistency):
            writer.write(byte: 2)
            writer.write(query)
            writer.write(consistency)
        case .nearest(let search, let query, let consistency):
            writer.write(byte: 20)
            writer.write(search)
            writer.write(query)
            writer.write(consistency)
        case .begin(.readWrite(let retrying)):
            writer.write(byte: 3)
            writer.write(retrying)
        case .begin(.readOnly(let time)):
            writer.write(byte: 4)
            writer.write(optional: time) { $0.write($1) }
        case .beginReading(.documents(let paths)):
            writer.write(byte: 18)
            writer.write(paths) { $0.write($1) }
        case .beginReading(.query(let query)):
            writer.write(byte: 19)
            writer.write(query)
        case .commit(let writes, let transaction, let result, let effects):
            writer.write(byte: 5)
            writer.write(writes) { $0.write($1) }
            writer.write(transaction)
            writer.write(optional: result) { $0.write(blob: $1) }
            writer.write(effects) { $1.write(to: &$0) }
        case .rollback(let transaction):
            writer.write(byte: 6)
            writer.write(fixed: transaction.rawValue)
        case .aggregate(let query, let fields, let consistency):
            writer.write(byte: 7)
            writer.write(query)
            writer.write(fields) { $0.write($1) }
            writer.write(consistency)
        case .explain(let query, let fields, let analyze, let consistency):
            writer.write(byte: 8)
            writer.write(query)
            writer.write(fields) { $0.write($1) }
            writer.write(analyze)
            writer.write(consistency)
        case .partition(let query, let points, let consistency):
            writer.write(byte: 9)
            writer.write(query)
            writer.write(count: points)
            writer.write(consistency)
        case .batchWrite(let writes):
            writer.write(byte: 10)
            writer.write(writes) { $0.write($1) }
        case .claim(let key, let mode):
            writer.write(byte: 13)
            writer.write(key)
            writer.write(byte: mode.rawValue)
        case .settle(let answer):
            writer.write(byte: 14)
            writer.write(optional: answer) { $0.write(blob: $1) }
        case .users(let request):
            writer.write(byte: 15)
            request.write(to: &writer)
        case .database(let request):
            writer.write(byte: 17)
            request.write(to: &writer)
        case .commitAll(let changes, let writes, let transaction, let result, let effects):
            writer.write(byte: 16)
            changes.write(to: &writer)
            writer.write(writes) { $0.write($1) }
            writer.write(fixed: transaction.rawValue)
            writer.write(optional: result) { $0.write(blob: $1) }
            writer.write(effects) { $1.write(to: &$0) }
        case .collections(let parent):
            writer.write(byte: 11)
            writer.write(optional: parent) { $0.write($1) }
        case .descendants(let page):
            writer.write(byte: 12)
            writer.write(optional: page.parent) { $0.write($1) }
            writer.write(optional: page.collectionID) { $0.write($1) }
            writer.write(optional: page.after) { $0.write($1) }
            writer.write(count: page.limit)
        case .list(let page):
            writer.write(byte: 21)
            writer.write(page.collection.string)
            writer.write(optional: page.token) { $0.write($1) }
            writer.write(count: page.limit)
        }
        return writer.bytes
    }

    package init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        try self.init(from: &reader)
    }

    /// Decodes all of the reader's bytes.
    init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte() {
        case 1:
            let paths = try reader.list { reader throws(DecodingFailure) in try reader.path() }
            self = .get(paths, try reader.consistency())
        case 2:
            let query = try reader.query()
            self = .query(query, try reader.consistency())
        case 3: self = .begin(.readWrite(retrying: try reader.transaction()))
        case 4:
            self = .begin(
                .readOnly(at: try reader.optional { reader throws(DecodingFailure) in try reader.timestamp() }))
        case 5:
            let writes = try reader.writes()
            let transaction = try reader.transaction()
            let result = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
            let effects = try reader.list { reader throws(DecodingFailure) in try Effect(from: &reader) }
            self = .commit(writes, transaction: transaction, completing: result, effects: effects)
        case 6: self = .rollback(TransactionID(rawValue: try reader.fixed()))
        case 7:
            let query = try reader.query()
            let fields = try reader.aggregateFields()
            self = .aggregate(query, fields, try reader.consistency())
        case 8:
            let query = try reader.query()
            let fields = try reader.aggregateFields()
            let analyze = try reader.bool()
            self = .explain(query, fields, analyze: analyze, try reader.consistency())
        case 9:
            let query = try reader.query()
            let points = try reader.size()
            self = .partition(query, points: points, try reader.consistency())
        case 10: self = .batchWrite(try reader.writes())
        case 11: self = .collections(below: try reader.optionalPath())
        case 12:
            let parent = try reader.optionalPath()
            let id = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
            let after = try reader.optionalPath()
            self = .descendants(
                Descendants(parent: parent, collectionID: id, after: after, limit: try reader.size()))
        case 13:
            let key = try reader.string()
            guard let mode = ClaimMode(rawValue: try reader.byte()) else {
                throw DecodingFailure("a claim has an unknown mode")
            }
            self = .claim(key: key, mode)
        case 14: self = .settle(try reader.optional { reader throws(DecodingFailure) in try reader.blob() })
        case 15: self = .users(try UserRequest(from: &reader))
        case 16:
            let changes = try TransactionChanges(from: &reader)
            let writes = try reader.writes()
            let transaction = TransactionID(rawValue: try reader.fixed())
            let result = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
            let effects = try reader.list { reader throws(DecodingFailure) in try Effect(from: &reader) }
            self = .commitAll(changes, writes, transaction: transaction, completing: result, effects: effects)
        case 17: self = .database(try DatabaseRequest(from: &reader))
        case 18:
            self = .beginReading(
                .documents(try reader.list { reader throws(DecodingFailure) in try reader.path() }))
        case 19: self = .beginReading(.query(try reader.query()))
        case 20:
            let search = try reader.vectorSearch()
            let query = try reader.query()
            self = .nearest(search, of: query, try reader.consistency())
        case 21:
            let collection = try reader.collectionPath()
            let token = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
            self = .list(DocumentListing(collection, token: token, limit: try reader.size()))
        case let tag: throw DecodingFailure("unknown document operation tag \(tag)")
        }
        try reader.finish()
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ transaction: TransactionID?) {
        write(optional: transaction) { $0.write(fixed: $1.rawValue) }
    }

    fileprivate mutating func write(_ consistency: ReadConsistency) {
        switch consistency {
        case .strong: write(byte: 0)
        case .transaction(let transaction):
            write(byte: 1)
            write(fixed: transaction.rawValue)
        case .at(let time):
            write(byte: 2)
            write(time)
        }
    }

    fileprivate mutating func write(_ field: AggregateField) {
        switch field {
        case .count(let upTo):
            write(byte: 1)
            // No store has more documents than that.
            write(optional: upTo) { $0.write(count: min($1, Int(Int32.max))) }
        case .sum(let field):
            write(byte: 2)
            write(field)
        case .average(let field):
            write(byte: 3)
            write(field)
        }
    }
}

extension ByteReader {
    fileprivate mutating func transaction() throws(DecodingFailure) -> TransactionID? {
        try optional { reader throws(DecodingFailure) in TransactionID(rawValue: try reader.fixed()) }
    }

    fileprivate mutating func optionalPath() throws(DecodingFailure) -> DocumentPath? {
        try optional { reader throws(DecodingFailure) in try reader.path() }
    }

    fileprivate mutating func collectionPath() throws(DecodingFailure) -> CollectionPath {
        let string = try string()
        do { return try CollectionPath(string) } catch { throw DecodingFailure(error.message) }
    }

    fileprivate mutating func consistency() throws(DecodingFailure) -> ReadConsistency {
        switch try byte() {
        case 0: return .strong
        case 1: return .transaction(TransactionID(rawValue: try fixed()))
        case 2: return .at(try timestamp())
        case let tag: throw DecodingFailure("unknown read consistency tag \(tag)")
        }
    }

    fileprivate mutating func writes() throws(DecodingFailure) -> [Write] {
        try list { reader throws(DecodingFailure) in try reader.write() }
    }

    fileprivate mutating func aggregateFields() throws(DecodingFailure) -> [AggregateField] {
        try list { reader throws(DecodingFailure) in
            switch try reader.byte() {
            case 1:
                return .count(upTo: try reader.optional { reader throws(DecodingFailure) in try reader.size() })
            case 2: return .sum(try reader.fieldPath())
            case 3: return .average(try reader.fieldPath())
            case let tag: throw DecodingFailure("unknown aggregation tag \(tag)")
            }
        }
    }
}
