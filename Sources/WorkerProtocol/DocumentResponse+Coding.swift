package import DocumentModel

extension DocumentResponse {
    package var encoded: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 512)
        switch self {
        case .documents(let documents, let readTime):
            writer.write(byte: 1)
            writer.write(documents) { $0.write(optional: $1) { $0.write($1) } }
            writer.write(readTime)
        case .results(let documents, let readTime):
            writer.write(byte: 2)
            writer.write(documents) { $0.write($1) }
            writer.write(readTime)
        case .began(let transaction, let prefetched):
            writer.write(byte: 3)
            writer.write(fixed: transaction.rawValue)
            writer.write(prefetched) { $0.write($1) }
        case .committed(let result):
            writer.write(byte: 4)
            writer.write(result.commitTime)
            writer.write(result.writeResults) { $0.write($1) }
        case .rolledBack: writer.write(byte: 5)
        case .completed(let result):
            writer.write(byte: 6)
            writer.write(blob: result)
        case .failed(let error):
            writer.write(byte: 7)
            writer.write(error)
        case .keyReused:
            writer.write(byte: 7)
            writer.write(DocumentError.keyReused)
        case .aggregated(let values, let readTime):
            writer.write(byte: 8)
            writer.write(values) { $0.write($1) }
            writer.write(readTime)
        case .explained(let explanation, let results, let values, let readTime):
            writer.write(byte: 9)
            writer.write(explanation)
            writer.write(results) { $0.write($1) }
            writer.write(values) { $0.write($1) }
            writer.write(readTime)
        case .partitioned(let points, let readTime):
            writer.write(byte: 10)
            writer.write(points) { $0.write($1) }
            writer.write(readTime)
        case .users(let answer):
            writer.write(byte: 16)
            writer.write(blob: answer)
        case .database(let answer):
            writer.write(byte: 18)
            answer.write(to: &writer)
        case .usersRefused(let message):
            writer.write(byte: 17)
            writer.write(message)
        case .claimed: writer.write(byte: 14)
        case .settled: writer.write(byte: 15)
        case .collections(let ids):
            writer.write(byte: 12)
            writer.write(ids) { $0.write($1) }
        case .listed(let ids, let next):
            writer.write(byte: 19)
            writer.write(ids) { $0.write($1) }
            writer.write(optional: next) { $0.write($1) }
        case .descendants(let paths):
            writer.write(byte: 13)
            writer.write(paths) { $0.write($1) }
        case .written(let results):
            writer.write(byte: 11)
            writer.write(results) {
                switch $1 {
                case .success(let result):
                    $0.write(true)
                    $0.write(result)
                case .failure(let error):
                    $0.write(false)
                    $0.write(error)
                }
            }
        }
        return writer.bytes
    }

    package init(decoding bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        switch try reader.byte() {
        case 1:
            let documents = try reader.list { reader throws(DecodingFailure) in
                try reader.optional { reader throws(DecodingFailure) in try reader.document() }
            }
            self = .documents(documents, readTime: try reader.timestamp())
        case 2:
            let documents = try reader.list { reader throws(DecodingFailure) in try reader.document() }
            self = .results(documents, readTime: try reader.timestamp())
        case 3:
            let transaction = TransactionID(rawValue: try reader.fixed())
            self = .began(
                transaction,
                prefetched: try reader.list { reader throws(DecodingFailure) in try reader.transactionRead() })
        case 4:
            let commitTime = try reader.timestamp()
            let results = try reader.list { reader throws(DecodingFailure) in try reader.writeResult() }
            self = .committed(CommitResult(commitTime: commitTime, writeResults: results))
        case 5: self = .rolledBack
        case 6: self = .completed(try reader.blob())
        case 7: self = .failed(try reader.documentError())
        case 8:
            let values = try reader.values()
            self = .aggregated(values, readTime: try reader.timestamp())
        case 9:
            let explanation = try reader.explanation()
            let documents = try reader.list { reader throws(DecodingFailure) in try reader.document() }
            let values = try reader.values()
            self = .explained(explanation, results: documents, values: values, readTime: try reader.timestamp())
        case 10:
            let points = try reader.list { reader throws(DecodingFailure) in try reader.path() }
            self = .partitioned(points, readTime: try reader.timestamp())
        case 11:
            self = .written(
                try reader.list { reader throws(DecodingFailure) in
                    try reader.bool() ? .success(try reader.writeResult()) : .failure(try reader.documentError())
                })
        case 12:
            self = .collections(try reader.list { reader throws(DecodingFailure) in try reader.string() })
        case 13:
            self = .descendants(try reader.list { reader throws(DecodingFailure) in try reader.path() })
        case 14: self = .claimed
        case 15: self = .settled
        case 16: self = .users(try reader.blob())
        case 17: self = .usersRefused(try reader.string())
        case 18: self = .database(try DatabaseAnswer(from: &reader))
        case 19:
            let ids = try reader.list { reader throws(DecodingFailure) in try reader.string() }
            self = .listed(ids, next: try reader.optional { reader throws(DecodingFailure) in try reader.string() })
        case let tag: throw DecodingFailure("unknown document response tag \(tag)")
        }
        try reader.finish()
    }
}

extension ByteWriter {
    fileprivate mutating func write(_ result: WriteResult) {
        write(optional: result.updateTime) { $0.write($1) }
        write(result.transformResults) { $0.write($1) }
    }

    fileprivate mutating func write(_ error: DocumentError) {
        write(byte: error.code.rawValue)
        write(error.message)
    }

    fileprivate mutating func write(_ read: TransactionRead) {
        switch read {
        case .document(let path, let document):
            write(byte: 1)
            write(path)
            write(optional: document) { $0.write($1) }
        case .query(let query, let documents):
            write(byte: 2)
            write(query)
            write(documents) { $0.write($1) }
        }
    }
}

extension ByteReader {
    fileprivate mutating func writeResult() throws(DecodingFailure) -> WriteResult {
        WriteResult(
            updateTime: try optional { reader throws(DecodingFailure) in try reader.timestamp() },
            transformResults: try values())
    }

    fileprivate mutating func values() throws(DecodingFailure) -> [Value] {
        try list { reader throws(DecodingFailure) in try reader.value() }
    }

    fileprivate mutating func documentError() throws(DecodingFailure) -> DocumentError {
        guard let code = StatusCode(rawValue: try byte()) else {
            throw DecodingFailure("an error has an unknown code")
        }
        return DocumentError(code, try string())
    }

    fileprivate mutating func transactionRead() throws(DecodingFailure) -> TransactionRead {
        switch try byte() {
        case 1:
            let path = try path()
            return .document(path, try optional { reader throws(DecodingFailure) in try reader.document() })
        case 2:
            let query = try query()
            return .query(query, try list { reader throws(DecodingFailure) in try reader.document() })
        case let tag: throw DecodingFailure("unknown transaction read tag \(tag)")
        }
    }
}
