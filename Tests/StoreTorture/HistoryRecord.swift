package import DocumentModel
package import WorkerProtocol

/// What one transaction read and wrote, as it stands in the store: written by the very commit that it tells of.
package struct HistoryRecord: Sendable {
    package static let collection = "log"
    /// The time of the request, in records of commits under rules.
    package static let requestTime = FieldPath(segments: ["at"])

    /// The newest commit that was acknowledged when the transaction began: its own is later.
    package var after: Timestamp
    package var reads: [Read]
    package var writes: [Write]
    /// Of a commit under rules; read from its document.
    package private(set) var requestTime: Timestamp?

    package struct Read: Sendable {
        package var request: DocumentRequest
        package var response: DocumentResponse
        /// The time of the state that was read; nil if it is the commit's.
        package var time: Timestamp?
    }

    package init(after: Timestamp, reads: [Read] = [], writes: [Write] = []) {
        self.after = after
        self.reads = reads
        self.writes = writes
    }

    /// The fields of the document that holds it: one text of bytes.
    package var fields: [String: Value] {
        var writer = ByteWriter()
        writer.write(after)
        writer.write(reads) { writer, read in
            writer.write(blob: read.request.encoded)
            writer.write(blob: read.response.encoded)
            writer.write(optional: read.time) { $0.write($1) }
        }
        writer.write(blob: DocumentRequest.commit(writes, transaction: nil, completing: nil).encoded)
        return ["body": .bytes(writer.bytes)]
    }

    /// - Throws: `DecodingFailure` if this program didn't write the document.
    package init(_ document: Document) throws {
        if case .timestamp(let time) = document.fields["at"] { requestTime = time }
        guard case .bytes(let bytes) = document.fields["body"] else {
            throw DecodingFailure("\(document.path) isn't a record")
        }
        var reader = ByteReader(bytes)
        after = try reader.timestamp()
        reads = try reader.list { reader throws(DecodingFailure) in
            Read(
                request: try DocumentRequest(decoding: reader.blob()),
                response: try DocumentResponse(decoding: reader.blob()),
                time: try reader.optional { reader throws(DecodingFailure) in try reader.timestamp() })
        }
        guard case .commit(let writes, _, _, _) = try DocumentRequest(decoding: reader.blob()) else {
            throw DecodingFailure("\(document.path) holds no writes")
        }
        self.writes = writes
        try reader.finish()
    }
}
