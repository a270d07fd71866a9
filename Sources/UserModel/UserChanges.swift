package import DocumentModel

/// The users that a transaction has read and changes.
package struct UserChanges: Hashable, Sendable {
    /// A read, and what it found. The commit is refused as aborted if it would find something else.
    package struct Expectation: Hashable, Sendable {
        /// The body of the ``UserRequest/Operation/lookUp``.
        package var lookup: [UInt8]
        package var answer: [UInt8]

        package init(lookup: [UInt8], answer: [UInt8]) {
            self.lookup = lookup
            self.answer = answer
        }
    }

    package var expectations: [Expectation]
    /// In order. Each sees the ones before it.
    package var writes: [UserRequest]

    /// Lookups and writes of one transaction: the writer's thread repeats all of them.
    package static let maxReads = 100
    package static let maxWrites = 100

    package init(expectations: [Expectation] = [], writes: [UserRequest] = []) {
        self.expectations = expectations
        self.writes = writes
    }

    package var isEmpty: Bool { expectations.isEmpty && writes.isEmpty }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        expectations = try reader.list { reader throws(DecodingFailure) in
            Expectation(lookup: try reader.blob(), answer: try reader.blob())
        }
        writes = try reader.list { reader throws(DecodingFailure) in try UserRequest(from: &reader) }
    }

    package func write(to writer: inout ByteWriter) {
        writer.write(expectations) {
            $0.write(blob: $1.lookup)
            $0.write(blob: $1.answer)
        }
        writer.write(writes) { $1.write(to: &$0) }
    }

    package func check() throws(DocumentError) {
        guard expectations.count <= Self.maxReads, writes.count <= Self.maxWrites else {
            throw .invalidArgument(
                "a transaction has \(expectations.count) reads and \(writes.count) writes of users; the limits are "
                    + "\(Self.maxReads) and \(Self.maxWrites)")
        }
        for write in writes {
            guard write.operation.isTransactional else {
                throw .invalidArgument("a transaction can create, update and delete users, and can't do anything else")
            }
            try write.check()
        }
    }
}
