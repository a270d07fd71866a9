import DocumentModel
import TestSupport
import Testing
import UserModel
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
        let plain = try VectorSearch(
            field: field, vector: [1, -0.5], measure: .cosine, limit: 1, resultField: nil, threshold: nil)
        let full = try VectorSearch(
            field: FieldPath(segments: ["a.b", "c"]), vector: [Double](repeating: .infinity, count: 2048),
            measure: .dotProduct, limit: 1000, resultField: "é", threshold: -0.25)
        let requests: [DocumentRequest] = [
            .get([path], ReadConsistency(transaction: id)), .query(query, .strong), .begin(.readOnly(at: nil)),
            .nearest(plain, of: query, .strong), .nearest(full, of: query, ReadConsistency(transaction: id)),
            .begin(.readWrite(retrying: id)), .beginReading(.documents([path])), .beginReading(.query(query)),
            .commit([write], transaction: id, completing: [1, 2]), .rollback(id),
            .collections(below: nil), .collections(below: path), .claim(key: "é", .transactional),
            .claim(key: "", .once), .settle([1]), .settle(nil),
            .descendants(Descendants(parent: path, collectionID: "é", after: path, limit: 7)),
            .list(DocumentListing(try CollectionPath("a/b/é"), token: "é", limit: 7)),
            .list(DocumentListing(try CollectionPath("a"))),
            .users(UserRequest(.lookUp, body: [1])),
            .database(DatabaseRequest(.get, instance: "é", target: "a/b", query: [1], observation: 3)),
            .database(DatabaseRequest(.set, target: "a", value: [1, 2], ifHash: "")),
            .commitAll(
                TransactionChanges(
                    users: UserChanges(
                        expectations: [.init(lookup: [1], answer: [2, 3])], writes: [UserRequest(.create, body: [4])]),
                    database: DatabaseChanges(
                        expectations: [.init(DatabaseRequest(.get, target: "a"), hash: "h", version: .max)],
                        writes: [DatabaseRequest(.update, value: [1])])),
                [write], transaction: id, completing: [1], effects: [.deleteTask("t", queue: "q")]),
        ]
        for request in requests { #expect(try DocumentRequest(decoding: request.encoded) == request) }
    }

    /// What only reads can be repeated if its answer finds no room.
    @Test(arguments: UserRequest.Operation.allCases) func aRequestForUsersHasThePurposeOfItsOperation(
        operation: UserRequest.Operation
    ) {
        let purpose = DocumentRequest.purpose(of: DocumentRequest.users(UserRequest(operation, body: [])).encoded)
        #expect((purpose == .read) == operation.isRead)
        #expect((purpose == .write) == !operation.isRead)
    }

    @Test func aRequestSaysWhatItTakesInMemory() throws {
        let path = try DocumentPath("a/b")
        let small = try BoundedRequest(DocumentRequest.get([path], .strong).encoded)
        #expect(small.request == .get([path], .strong))
        #expect(small.bytes < 100)
        func set(_ values: Int) -> [UInt8] {
            let value = Value.array([Value](repeating: .boolean(true), count: values))
            return DocumentRequest.commit(
                [Write(path: path, operation: .set(["f": value]))], transaction: nil, completing: nil
            ).encoded
        }
        #expect(try BoundedRequest(set(1000)).bytes > 1000 * MemoryLayout<Value>.stride)
        // The write and its field count too.
        let most = DocumentRequest.maxDecodedBytes / MemoryLayout<Value>.stride
        _ = try BoundedRequest(set(most - 100))
        let refusal = #expect(throws: BoundedRequest.Refusal.self) { try BoundedRequest(set(most)) }
        guard case .beyondLimit(let error) = refusal else {
            Issue.record("it is refused with \(String(describing: refusal))")
            return
        }
        #expect(error.code == .invalidArgument && error.message.contains("64 MiB"))
        #expect(throws: BoundedRequest.Refusal.malformed(DecodingFailure("the bytes end too early"))) {
            try BoundedRequest([])
        }
    }

    /// The host compares and stores what a function writes, wherever that has its texts.
    @Test func aRequestIsRefusedIfATextTakesLongToCompare() throws {
        let path = try DocumentPath("a/b")
        func requests(_ marks: Int) -> [DocumentRequest] {
            let text = String(repeating: "\u{301}", count: marks)
            let json = Array("\"\(text)\"".utf8)
            let sets = [["f": Value.string(text)], [text: .null]].map { Write(path: path, operation: .set($0)) }
            return sets.map { .commit([$0], transaction: nil, completing: nil) } + [
                .users(UserRequest(.create, body: json)), .database(DatabaseRequest(.set, target: "a", value: json)),
                .claim(key: text, .once),
            ]
        }
        for request in requests(1000) { _ = try BoundedRequest(request.encoded) }
        for request in requests(1001) {
            let refusal = #expect(throws: BoundedRequest.Refusal.self) { try BoundedRequest(request.encoded) }
            guard case .beyondLimit(let error)? = refusal else {
                Issue.record("it is refused with \(String(describing: refusal))")
                continue
            }
            #expect(error.code == .invalidArgument && error.message.contains("combining marks"))
        }
    }

    @Test func aPageOfDocumentsHasAPossibleSize() throws {
        let collection = try CollectionPath("a/b/c")
        for (asked, limit) in [(Int.min, 1), (0, 1), (1, 1), (1000, 1000), (1001, 1000), (.max, 1000)] {
            #expect(DocumentListing(collection, limit: asked).limit == limit)
        }
        func request(_ collection: String) -> DocumentRequest {
            .list(DocumentListing(CollectionPath(unchecked: collection)))
        }
        for path in ["", "a/b", "a//c", "a/../c"] {
            #expect(throws: DecodingFailure.self) { try DocumentRequest(decoding: request(path).encoded) }
        }
        for response in [DocumentResponse.listed(["a", "é"], next: "é"), .listed([], next: nil)] {
            #expect(try DocumentResponse(decoding: response.encoded) == response)
        }
    }

    /// Its worker goes on.
    @Test func aSearchBeyondALimitIsRefused() throws {
        func encoded(
            vector: [Double] = [1], measure: UInt8 = 1, limit: Int = 1, resultField: String? = nil
        ) -> [UInt8] {
            var writer = ByteWriter()
            writer.write(byte: 20)
            writer.write(FieldPath(segments: ["v"]))
            writer.write(vector) { $0.write($1) }
            writer.write(byte: measure)
            writer.write(count: limit)
            writer.write(optional: resultField) { $0.write($1) }
            writer.write(false)
            writer.write(Query(collectionID: "c"))
            // A strong read.
            writer.write(byte: 0)
            return writer.bytes
        }
        func refusal(_ bytes: [UInt8]) -> String? {
            let refusal = #expect(throws: BoundedRequest.Refusal.self) { try BoundedRequest(bytes) }
            guard case .beyondLimit(let error)? = refusal else { return nil }
            return error.message
        }
        let search = try VectorSearch(
            field: FieldPath(segments: ["v"]), vector: [1], measure: .euclidean, limit: 1, resultField: nil,
            threshold: nil)
        #expect(try BoundedRequest(encoded()).request == .nearest(search, of: Query(collectionID: "c"), .strong))
        #expect(DocumentRequest.purpose(of: encoded()) == .read)
        for count in [0, 2049] {
            #expect(
                refusal(encoded(vector: [Double](repeating: 0, count: count)))
                    == "findNearest.queryVector has \(count) elements; it must have 1 to 2048")
        }
        for limit in [0, 1001] {
            #expect(refusal(encoded(limit: limit)) == "findNearest.limit must be 1 to 1000, not \(limit)")
        }
        #expect(
            refusal(encoded(resultField: "")) == "findNearest.distanceResultField: a field name must not be empty")
        let unknown = DecodingFailure("a vector search has an unknown measure of distance")
        #expect(throws: BoundedRequest.Refusal.malformed(unknown)) { try BoundedRequest(encoded(measure: 4)) }
    }

    @Test(arguments: [
        (DocumentRequest.get([], .strong), DocumentRequest.Purpose.read),
        (.query(Query(collectionID: "c"), .strong), .read), (.aggregate(Query(collectionID: "c"), [], .strong), .read),
        (.explain(Query(collectionID: "c"), [], analyze: true, .strong), .read),
        (.partition(Query(collectionID: "c"), points: 1, .strong), .read), (.begin(.readWrite(retrying: nil)), .begin),
        (.beginReading(.documents([])), .read), (.beginReading(.query(Query(collectionID: "c"))), .read),
        (.begin(.readOnly(at: nil)), .begin), (.commit([], transaction: nil, completing: nil), .write),
        (.claim(key: "k", .once), .begin), (.settle(nil), .write), (.collections(below: nil), .read),
        (.descendants(Descendants(parent: nil, limit: 1)), .read),
        (.list(DocumentListing(CollectionPath(unchecked: "c"))), .read),
        (.batchWrite([]), .write), (.rollback(TransactionID(rawValue: 1)), .write),
    ])
    func aRequestsPurposeIsKnownFromItsBytes(request: DocumentRequest, purpose: DocumentRequest.Purpose) {
        #expect(DocumentRequest.purpose(of: request.encoded) == purpose)
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
