package import DocumentModel

/// A handler's operation on the Realtime Database. Values are JSON with priorities, as `format=export` has them; queries are
/// JSON as messages have them.
package struct DatabaseRequest: Hashable, Sendable {
    package enum Operation: UInt8, Hashable, Sendable, CaseIterable {
        /// What exists at the target.
        case get = 1
        /// Replaces what exists at the target.
        case set
        /// Replaces what exists at several paths below the target, all or none.
        case update
        /// Begins to observe what exists at the target.
        case observe
        /// Waits for what has changed since the last answer.
        case next
        /// Ends an observation.
        case end

        package var purpose: DocumentRequest.Purpose {
            switch self {
            case .get: .read
            case .set, .update, .observe, .end: .write
            case .next: .wait
            }
        }
    }

    package var operation: Operation
    /// The database's name; empty for the project's own.
    package var instance: String
    /// Keys joined by slashes; for ``Operation/set``, `.priority` may follow them.
    package var target: String
    /// For ``Operation/get`` and ``Operation/observe``; nil for all that exists.
    package var query: [UInt8]?
    /// The value of ``Operation/set``, or the object of ``Operation/update``.
    package var value: [UInt8] = []
    /// What is set only replaces what has this hash; empty for nothing. Nil without a condition.
    package var hash: String?
    /// Whether the hash of what ``Operation/get`` finds is wanted, which costs as much as reading it.
    package var wantsHash = false
    /// Which one ``Operation/next`` and ``Operation/end`` mean.
    package var observation: UInt64 = 0

    package init(
        _ operation: Operation, instance: String = "", target: String = "", query: [UInt8]? = nil,
        value: [UInt8] = [], ifHash hash: String? = nil, wantsHash: Bool = false, observation: UInt64 = 0
    ) {
        self.operation = operation
        self.instance = instance
        self.target = target
        self.query = query
        self.value = value
        self.hash = hash
        self.wantsHash = wantsHash
        self.observation = observation
    }

    /// Keys are compared by their bytes, as the database does.
    package static func == (a: DatabaseRequest, b: DatabaseRequest) -> Bool {
        a.operation == b.operation && TextBytes.equal(a.instance, b.instance) && TextBytes.equal(a.target, b.target)
            && a.query == b.query && a.value == b.value && a.hash == b.hash && a.wantsHash == b.wantsHash
            && a.observation == b.observation
    }

    /// About the bytes that are to be parsed.
    package var size: Int { 128 + target.utf8.count + (query?.count ?? 0) + value.count }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let code = try reader.byte()
        guard let operation = Operation(rawValue: code) else {
            throw DecodingFailure("unknown operation \(code) of the Realtime Database")
        }
        self.operation = operation
        instance = try reader.string()
        target = try reader.string()
        query = try reader.optional { reader throws(DecodingFailure) in try reader.blob() }
        value = try reader.blob()
        hash = try reader.optional { reader throws(DecodingFailure) in try reader.string() }
        wantsHash = try reader.bool()
        observation = try reader.varint()
    }

    package func write(to writer: inout ByteWriter) {
        writer.write(byte: operation.rawValue)
        writer.write(instance)
        writer.write(target)
        writer.write(optional: query) { $0.write(blob: $1) }
        writer.write(blob: value)
        writer.write(optional: hash) { $0.write($1) }
        writer.write(wantsHash)
        writer.write(varint: observation)
    }
}

/// The answer to a ``DatabaseRequest``.
package enum DatabaseAnswer: Hashable, Sendable {
    /// What exists, and its hash: empty for nothing, and if it wasn't asked for.
    ///
    /// - Parameter version: that of the state, for an expectation; 0 if it isn't known.
    case value([UInt8], hash: String, version: Int64 = 0)
    case written
    case observing(UInt64)
    /// What was set since the last answer, with targets from the observed node. The first one has all that exists.
    case changes([ReferenceChange.Setting])

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte() {
        case 1: self = .value(try reader.blob(), hash: try reader.string(), version: try reader.signed())
        case 2: self = .written
        case 3: self = .observing(try reader.varint())
        case 4:
            self = .changes(
                try reader.list { reader throws(DecodingFailure) in
                    ReferenceChange.Setting(
                        try reader.string(),
                        try reader.optional { reader throws(DecodingFailure) in try reader.blob() })
                })
        case let tag: throw DecodingFailure("unknown answer \(tag) of the Realtime Database")
        }
    }

    package func write(to writer: inout ByteWriter) {
        switch self {
        case .value(let json, let hash, let version):
            writer.write(byte: 1)
            writer.write(blob: json)
            writer.write(hash)
            writer.write(signed: version)
        case .written: writer.write(byte: 2)
        case .observing(let id):
            writer.write(byte: 3)
            writer.write(varint: id)
        case .changes(let settings):
            writer.write(byte: 4)
            writer.write(settings) { writer, setting in
                writer.write(setting.target)
                writer.write(optional: setting.value) { $0.write(blob: $1) }
            }
        }
    }
}

/// What a transaction has read of the Realtime Database and changes in it.
package struct DatabaseChanges: Hashable, Sendable {
    /// A read, and the hash of what it found. The commit is refused as aborted if it would find something else.
    package struct Expectation: Hashable, Sendable {
        package var read: DatabaseRequest
        package var hash: String
        /// Of the state that was read.
        package var version: Int64

        package init(_ read: DatabaseRequest, hash: String, version: Int64) {
            self.read = read
            self.hash = hash
            self.version = version
        }
    }

    package var expectations: [Expectation]
    /// In order. Each sees the ones before it.
    package var writes: [DatabaseRequest]

    /// Of one transaction: the writer's thread repeats the reads.
    package static let maxReads = 100
    package static let maxWrites = 500

    package init(expectations: [Expectation] = [], writes: [DatabaseRequest] = []) {
        self.expectations = expectations
        self.writes = writes
    }

    package var isEmpty: Bool { expectations.isEmpty && writes.isEmpty }

    /// About the bytes that are to be parsed.
    package var size: Int {
        expectations.reduce(0) { $0 + $1.read.size } + writes.reduce(0) { $0 + $1.size }
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        expectations = try reader.list { reader throws(DecodingFailure) in
            Expectation(try DatabaseRequest(from: &reader), hash: try reader.string(), version: try reader.signed())
        }
        writes = try reader.list { reader throws(DecodingFailure) in try DatabaseRequest(from: &reader) }
    }

    package func write(to writer: inout ByteWriter) {
        writer.write(expectations) { writer, expectation in
            expectation.read.write(to: &writer)
            writer.write(expectation.hash)
            writer.write(signed: expectation.version)
        }
        writer.write(writes) { $1.write(to: &$0) }
    }

    package func check() throws(DocumentError) {
        guard expectations.count <= Self.maxReads, writes.count <= Self.maxWrites else {
            throw .invalidArgument(
                "a transaction has \(expectations.count) reads and \(writes.count) writes of the Realtime Database; the "
                    + "limits are \(Self.maxReads) and \(Self.maxWrites)")
        }
        guard expectations.allSatisfy({ $0.read.operation == .get }) else {
            throw .invalidArgument("a transaction expects what it has read, and nothing else")
        }
        guard writes.allSatisfy({ $0.operation == .set || $0.operation == .update }) else {
            throw .invalidArgument("a transaction can set and update the Realtime Database, and nothing else")
        }
    }
}
