import DocumentModel
import TestSupport
import Testing
import WorkerProtocol

struct DocumentRequestCodingTests {
    @Test func requestsComeBackAsTheyWere() throws {
        var query = Query(parent: try DocumentPath("a/b"), collectionID: "c", allDescendants: true)
        query.filter = .and([
            .field(try FieldPath("x.y"), .in, .array([.integer(1)])), .or([.unary(try FieldPath("z"), .isNotNaN)]),
        ])
        query.orderBy = [Query.Order(try FieldPath("x"), descending: true)]
        query.start = Query.Cursor(values: [.string("s")], before: true)
        query.limit = 3
        query.projection = [.documentID]
        let field = try FieldPath("n")
        let path = try DocumentPath("a/b")
        let write = Write(
            path: path, operation: .update(["n": .integer(1)], mask: [field]),
            transforms: [
                FieldTransform(field, .serverTimestamp), FieldTransform(field, .increment(.double(1))),
                FieldTransform(field, .arrayUnion([.null])),
            ],
            precondition: .updateTime(Timestamp(microseconds: 5)))
        let id = TransactionID(rawValue: .max)
        let requests: [DocumentRequest] = [
            .get([path], ReadConsistency(transaction: id)), .query(query, .strong), .begin(.readOnly(at: nil)),
            .begin(.readWrite(retrying: id)), .commit([write], transaction: id, completing: [1, 2]), .rollback(id),
        ]
        for request in requests { #expect(try DocumentRequest(decoding: request.encoded) == request) }
    }

    @Test func hostileBytesAreRefusedWithoutHarm() throws {
        var generator = SeededGenerator(seed: 3)
        let whole = DocumentRequest.commit(
            [Write(path: try DocumentPath("a/b"), operation: .set(["f": .array([.string("x"), .map([:])])]))],
            transaction: nil, completing: nil
        ).encoded
        for length in whole.indices {
            #expect(throws: DecodingFailure.self) { try DocumentRequest(decoding: Array(whole[..<length])) }
        }
        for _ in 0..<5000 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = damaged.indices.randomElement(using: &generator) ?? 0
                damaged[place] = .random(in: 0 ... .max, using: &generator)
            }
            _ = try? DocumentRequest(decoding: damaged)
        }
    }
}
