import DocumentModel
import TestSupport
import WorkerProtocol

/// Document operations of all kinds, and their answers.
struct RandomOperations {
    var random: SeededGenerator

    private static let fields = ["n", "s", "a", "m.x", "`q r`.z"].compactMap { try? FieldPath($0) } + [.documentID]
    private static let now = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

    // MARK: Requests

    mutating func request(in transaction: TransactionID?) -> DocumentRequest {
        switch Int.random(in: 0..<15, using: &random) {
        case 0: return .get(paths(), consistency(transaction))
        case 1, 2, 3: return .query(query(), consistency(transaction))
        case 4 where flag(): return nearest(transaction)
        case 4: return .aggregate(query(), aggregates(), consistency(transaction))
        case 5:
            return .explain(query(), random.once(in: 2) ? [] : aggregates(), analyze: flag(), consistency(transaction))
        case 6:
            var group = Query(collectionID: "c", allDescendants: true)
            group.orderBy = [.init(.documentID)]
            return .partition(group, points: .random(in: 0...5, using: &random), consistency(transaction))
        case 7 where flag(): return .beginReading(flag() ? .documents(paths()) : .query(query()))
        case 7: return .begin(flag() ? .readWrite(retrying: transaction) : .readOnly(at: flag() ? time() : nil))
        case 8, 9:
            return .commit(
                writes(), transaction: flag() ? transaction : nil, completing: flag() ? [1, 2] : nil,
                effects: random.once(in: 3) ? effects() : [])
        case 10: return .batchWrite(writes())
        case 13: return flag() ? .claim(key: "k", flag() ? .once : .repeatable) : .settle(flag() ? [1, 2] : nil)
        case 11 where flag():
            return .list(
                DocumentListing(
                    CollectionPath(unchecked: random.pick(["c", "d", "c/a/c"])),
                    token: random.pick([nil, "", "a", "é", "\u{1}", "__id7__", "a/c"]),
                    limit: .random(in: 0...5, using: &random)))
        case 11: return .collections(below: flag() ? path() : nil)
        case 12:
            return .descendants(
                Descendants(
                    parent: flag() ? path() : nil, collectionID: flag() ? "c" : nil, after: flag() ? path() : nil,
                    limit: .random(in: 0...5, using: &random)))
        default: return .rollback(transaction ?? TransactionID(rawValue: random.next()))
        }
    }

    private mutating func flag() -> Bool { Bool.random(using: &random) }

    private mutating func path() -> DocumentPath {
        DocumentPath(unchecked: random.pick(["c/a", "c/b", "c/a/c/x", "d/\u{1}", "d/é", "c/\(random.next() % 20)"]))
    }

    private mutating func paths() -> [DocumentPath] {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in path() }
    }

    private mutating func time() -> Timestamp {
        random.pick([
            Self.now, Timestamp(microseconds: 0), Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_000),
            Timestamp(seconds: -62_135_596_800, nanoseconds: 0), Self.now.after(seconds: 1),
        ])
    }

    private mutating func consistency(_ transaction: TransactionID?) -> ReadConsistency {
        if let transaction, flag() { return .transaction(transaction) }
        return random.once(in: 4) ? .at(time()) : .strong
    }

    private mutating func field() -> FieldPath { random.pick(Self.fields) }

    private mutating func values() -> [Value] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in Value.random(using: &random) }
    }

    private mutating func query() -> Query {
        var query = Query(
            parent: random.once(in: 3) ? path() : nil, collectionID: random.pick(["c", "d", "none"]),
            allDescendants: flag())
        if flag() { query.filter = filter(0) }
        for _ in 0..<Int.random(in: 0...2, using: &random) { query.orderBy.append(.init(field(), descending: flag())) }
        if random.once(in: 4) { query.start = .init(values: values(), before: flag()) }
        if random.once(in: 4) { query.end = .init(values: values(), before: flag()) }
        if random.once(in: 3) { query.offset = random.pick([0, 1, 100, Int(Int32.max)]) }
        if random.once(in: 2) { query.limit = random.pick([0, 1, 100, Int(Int32.max)]) }
        if random.once(in: 4) { query.projection = flag() ? [] : [field()] }
        return query
    }

    private mutating func filter(_ depth: Int) -> Query.Filter {
        switch Int.random(in: 0..<(depth < 3 ? 6 : 4), using: &random) {
        case 0, 1, 2:
            let comparison = random.pick(Query.Operator.allCases)
            let isList = [.in, .notIn, .arrayContainsAny].contains(comparison)
            return .field(field(), comparison, isList ? .array(values()) : Value.random(using: &random))
        case 3: return .unary(field(), random.pick(Query.UnaryOperator.allCases))
        case 4: return .and((0..<3).map { _ in filter(depth + 1) })
        default: return .or((0..<2).map { _ in filter(depth + 1) })
        }
    }

    private mutating func nearest(_ transaction: TransactionID?) -> DocumentRequest {
        let vector = [Double](repeating: Double.random(in: -1...1, using: &random), count: random.pick([1, 3, 2048]))
        let search = try? VectorSearch(
            field: field(), vector: vector, measure: random.pick(VectorSearch.Measure.allCases),
            limit: random.pick([1, 5, 1000]), resultField: random.once(in: 2) ? "d" : nil,
            threshold: random.once(in: 2) ? 0.5 : nil)
        guard let search else { preconditionFailure("a search that a request can have is refused") }
        return .nearest(search, of: query(), consistency(transaction))
    }

    private mutating func aggregates() -> [AggregateField] {
        (0...Int.random(in: 0...3, using: &random)).map { _ in
            switch Int.random(in: 0..<3, using: &random) {
            case 0: .count(upTo: random.once(in: 2) ? nil : random.pick([0, 1, Int(Int32.max)]))
            case 1: .sum(field())
            default: .average(field())
            }
        }
    }

    private mutating func writes() -> [Write] {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
            let fields = ["n": Value.random(using: &random), "m": .map(["x": Value.random(using: &random)])]
            var write = Write(
                path: path(),
                operation: random.pick([
                    .set(fields), .update(fields, mask: [FieldPath(segments: ["n"])]), .delete, .verify,
                ]))
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                write.transforms.append(
                    FieldTransform(
                        field(),
                        random.pick([
                            .serverTimestamp, .increment(Value.random(using: &random)), .maximum(.integer(.max)),
                            .minimum(.double(-.infinity)), .arrayUnion(values()), .arrayRemove(values()),
                        ])))
            }
            write.precondition = random.pick([nil, nil, .exists(flag()), .updateTime(time())])
            return write
        }
    }

    private mutating func effects() -> [Effect] {
        var task = TaskDraft(
            queue: random.pick(["q", "none"]), name: flag() ? "t\(random.next() % 5)" : nil, body: [1])
        task.headers = ["a": "b"]
        task.scheduleTime = flag() ? time() : nil
        task.dispatchDeadline = random.pick([nil, 20, .max, .min])
        var event = CloudEvent(type: "a.b", source: "/s", id: flag() ? "1" : nil)
        event.time = flag() ? time() : nil
        event.data = [1, 2]
        return random.pick([
            [.enqueue(task)], [.publish(event)], [.deleteTask("t1", queue: "q"), .enqueue(task), .publish(event)],
        ])
    }

    // MARK: Responses

    mutating func response() -> DocumentResponse {
        let result = WriteResult(updateTime: flag() ? time() : nil, transformResults: values())
        switch Int.random(in: 0..<17, using: &random) {
        case 0: return .documents([document(), nil], readTime: time())
        case 1: return .results([document()], readTime: time())
        case 2: return .aggregated(values(), readTime: time())
        case 3:
            var explanation = QueryExplanation(
                indexes: [.init(scope: "Collection", properties: "(n ASC)")], steps: ["one"])
            explanation.cost = .init(
                documentsReturned: 1, indexEntriesRead: Int(Int32.max), documentsRead: 0, microseconds: .max)
            return .explained(explanation, results: [document()], values: values(), readTime: time())
        case 4: return .partitioned(paths(), readTime: time())
        case 5:
            return .began(
                TransactionID(rawValue: random.next()),
                prefetched: [.document(path(), flag() ? document() : nil), .query(query(), [document()])])
        case 6: return .committed(CommitResult(commitTime: time(), writeResults: [result]))
        case 7: return .written([.success(result), .failure(DocumentError(.aborted, "again"))])
        case 8: return .completed([1, 2, 3])
        case 11 where flag(): return .listed(["a", "é"], next: flag() ? "é" : nil)
        case 11: return .collections(["c", "é"])
        case 13: return .claimed
        case 14: return .settled
        case 12: return .descendants(paths())
        case 15: return .users([1, 2])
        case 16: return .usersRefused("EMAIL_EXISTS : é")
        case 9: return .failed(DocumentError(.notFound, "no \u{1}"))
        default: return .rolledBack
        }
    }

    private mutating func document() -> Document {
        Document(
            path: path(), fields: ["n": Value.random(using: &random)], createTime: time(), updateTime: time())
    }
}
