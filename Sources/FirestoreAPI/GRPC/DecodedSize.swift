import DocumentModel
import DocumentStore
import FirestoreMessages
import SwiftProtobuf

/// About what a message takes in memory once it is decoded, known from its bytes: an empty message within another is
/// two of them, and up to a hundred times as many in memory.
struct DecodedSize {
    /// What a smaller message takes is little, whatever it has.
    static let leastBytes = 16 * 1024
    /// 1.8 million values.
    private static let maxBytes = 96 << 20
    /// More than messages nest that can be decoded.
    private static let maxDepth = 200
    static let tooMany = DocumentError.invalidArgument("the message has too many values or parts for its size")
    private static let malformed = DocumentError.invalidArgument("the message can't be decoded: it is malformed")

    private let bytes: [UInt8]
    private var position = 0
    private var left: Int

    /// - Throws: `invalidArgument` if the message takes too much, can't be decoded, or has a text that takes too long
    ///   to compare, as its decoder does with the names of fields; also if such a name isn't in normal form C: of two
    ///   names that Swift treats as equal, the decoder keeps one.
    static func check(_ bytes: [UInt8], as type: any Message.Type) throws(DocumentError) {
        try DocumentLimits.checkMarks(in: bytes)
        guard bytes.count >= leastBytes || !bytes.allSatisfy(FieldNames.isInNormalForm), let part = Part(type) else {
            return
        }
        var size = DecodedSize(bytes)
        try size.read(part, to: bytes.count, depth: 0)
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        // The shortest element of an array takes 4 bytes, and 56 in memory.
        left = min((1 << 20) + 16 * bytes.count, Self.maxBytes)
    }

    private mutating func read(_ part: Part, to end: Int, depth: Int) throws(DocumentError) {
        guard depth < Self.maxDepth else { throw Self.malformed }
        while position < end {
            let tag = try integer(to: end)
            switch tag & 7 {
            case 0: _ = try integer(to: end)
            case 1: try skip(8, to: end)
            case 2:
                let length = try integer(to: end)
                guard length <= UInt64(end - position) else { throw Self.malformed }
                let next = position + Int(length)
                if case .entry = part, tag >> 3 == 1 { try checkName(bytes[position..<next]) }
                if let inner = part.inner(tag >> 3) {
                    left -= inner.bytes
                    guard left >= 0 else { throw Self.tooMany }
                    try read(inner.part, to: next, depth: depth + 1)
                }
                position = next
            case 5: try skip(4, to: end)
            // Firestore has no groups.
            default: throw Self.malformed
            }
        }
    }

    private func checkName(_ bytes: ArraySlice<UInt8>) throws(DocumentError) {
        guard !bytes.allSatisfy(FieldNames.isInNormalForm), let name = String(validating: bytes, as: UTF8.self) else {
            return
        }
        try FieldNames.check(name)
    }

    private mutating func skip(_ count: Int, to end: Int) throws(DocumentError) {
        guard count <= end - position else { throw Self.malformed }
        position += count
    }

    private mutating func integer(to end: Int) throws(DocumentError) -> UInt64 {
        var (result, shift) = (UInt64(0), UInt64(0))
        while position < end, shift < 64 {
            let byte = bytes[position]
            position += 1
            result |= UInt64(byte & 0x7f) << shift
            guard byte & 0x80 != 0 else { return result }
            shift += 7
        }
        throw Self.malformed
    }
}

/// A kind of message that has parts which may be repeated, at any depth. Texts aren't parts: they take about what their
/// bytes do.
private enum Part {
    case commit, writeRequest, createRequest, updateRequest, queryRequest, aggregationRequest, listenRequest
    case write, transform, fieldTransform, document, entry, value, values, map
    case target, aggregationQuery, query, projection, filter, composite, fieldFilter, nearest
    case leaf

    /// The kind of a request; nil for one without such parts.
    init?(_ type: any Message.Type) {
        switch type {
        case is FSCommitRequest.Type, is FSBatchWriteRequest.Type: self = .commit
        case is FSWriteRequest.Type: self = .writeRequest
        case is FSCreateDocumentRequest.Type: self = .createRequest
        case is FSUpdateDocumentRequest.Type: self = .updateRequest
        case is FSRunQueryRequest.Type, is FSPartitionQueryRequest.Type: self = .queryRequest
        case is FSRunAggregationQueryRequest.Type: self = .aggregationRequest
        case is FSListenRequest.Type: self = .listenRequest
        default: return nil
        }
    }

    /// The part that a field's number stands for, and what one adds in memory where there may be many.
    func inner(_ number: UInt64) -> (part: Part, bytes: Int)? {
        typealias Query = FSStructuredQuery
        let entry = MemoryLayout<String>.stride + MemoryLayout<FSValue>.stride
        switch (self, number) {
        case (.commit, 2), (.writeRequest, 3): return (.write, MemoryLayout<FSWrite>.stride)
        case (.createRequest, 4), (.updateRequest, 1), (.write, 1): return (.document, 0)
        case (.write, 6): return (.transform, 0)
        case (.write, 7), (.transform, 2):
            return (.fieldTransform, MemoryLayout<FSDocumentTransform.FieldTransform>.stride)
        case (.fieldTransform, 3), (.fieldTransform, 4), (.fieldTransform, 5): return (.value, 0)
        case (.fieldTransform, 6), (.fieldTransform, 7): return (.values, 0)

        case (.document, 2), (.map, 1): return (.entry, entry)
        case (.entry, 2): return (.value, 0)
        case (.value, 6): return (.map, 0)
        case (.value, 9): return (.values, 0)
        case (.values, 1): return (.value, MemoryLayout<FSValue>.stride)

        case (.listenRequest, 2): return (.target, 0)
        // A target has its query where a request of one has it.
        case (.target, 2): return (.queryRequest, 0)
        case (.aggregationRequest, 2): return (.aggregationQuery, 0)
        case (.aggregationQuery, 3): return (.leaf, MemoryLayout<FSStructuredAggregationQuery.Aggregation>.stride)
        case (.queryRequest, 2), (.aggregationQuery, 1): return (.query, 0)
        case (.query, 1): return (.projection, 0)
        case (.projection, 2): return (.leaf, MemoryLayout<Query.FieldReference>.stride)
        case (.query, 2): return (.leaf, MemoryLayout<Query.CollectionSelector>.stride)
        case (.query, 3): return (.filter, 0)
        case (.query, 4): return (.leaf, MemoryLayout<Query.Order>.stride)
        case (.query, 7), (.query, 8): return (.values, 0)
        case (.query, 9): return (.nearest, 0)
        case (.filter, 1): return (.composite, 0)
        case (.composite, 2): return (.filter, MemoryLayout<Query.Filter>.stride)
        case (.filter, 2): return (.fieldFilter, 0)
        case (.fieldFilter, 3), (.nearest, 2): return (.value, 0)
        default: return nil
        }
    }
}
