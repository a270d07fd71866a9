import DocumentModel
import FirestoreJSON
import StrictJSON
import Synchronization
import TextFormats

/// The read operations.
extension RemoteFirestore {
    func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, _ context: OperationContext
    ) async throws(DocumentError) -> DocumentsAnswer {
        guard !paths.isEmpty else { return DocumentsAnswer(documents: [], readTime: now()) }
        var body = JSONWriter()
        body.documents(paths, in: database)
        body.consistency(try selector(consistency, context))
        let (found, readTime) = try documents(try await service.ask("batchGet", body).stream())
        var documents: [Document?] = []
        for path in paths {
            guard let document = found[path] else {
                throw FirestoreService.unreadable("\"\(path)\" was requested and is missing")
            }
            documents.append(document)
        }
        return DocumentsAnswer(documents: documents, readTime: readTime ?? now())
    }

    /// Reads the response to a batchGet, which is in no particular order.
    func documents(
        _ stream: [JSONNode]
    ) throws(DocumentError) -> (found: [DocumentPath: Document?], readTime: Timestamp?) {
        let reader = RESTWriteReader(database: database)
        var found: [DocumentPath: Document?] = [:]
        var readTime: Timestamp?
        for element in stream {
            try element.answer { (element) throws(JSONProblem) in
                if let node = element["found"] {
                    let document = try reader.stored(node)
                    found[document.path] = .some(document)
                }
                if let node = element["missing"] { found[try reader.path(node)] = .some(nil) }
                if let node = element["readTime"] { readTime = try node.timestamp() }
            }
        }
        return (found, readTime)
    }

    func query(
        _ query: Query, _ consistency: ReadConsistency, _ context: OperationContext
    ) async throws(DocumentError) -> QueryAnswer {
        let answer = try await run(query, explain: nil, consistency, context)
        return QueryAnswer(documents: answer.documents, readTime: answer.readTime ?? now())
    }

    func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency, _ context: OperationContext
    ) async throws(DocumentError) -> QueryAnswer {
        let answer = try await run(query, nearest: search, explain: nil, consistency, context)
        return QueryAnswer(documents: answer.documents, readTime: answer.readTime ?? now())
    }

    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, _ context: OperationContext
    ) async throws(DocumentError) -> AggregateAnswer {
        let answer = try await run(query, fields, explain: nil, consistency, context)
        return AggregateAnswer(values: answer.values, readTime: answer.readTime ?? now())
    }

    func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        _ context: OperationContext
    ) async throws(DocumentError) -> ExplainAnswer {
        let options = RESTExplainOptions(analyze: analyze)
        let answer =
            fields.isEmpty
            ? try await run(query, explain: options, consistency, context)
            : try await run(query, fields, explain: options, consistency, context)
        guard let explanation = answer.explanation else {
            throw DocumentError(.unimplemented, "the document service doesn't support explaining queries")
        }
        return ExplainAnswer(
            explanation: explanation, documents: answer.documents, values: answer.values,
            readTime: answer.readTime ?? now())
    }

    /// A streamed answer, put together.
    private struct StreamAnswer {
        var documents: [Document] = []
        var values: [Value] = []
        var readTime: Timestamp?
        var explanation: QueryExplanation?

        mutating func readCommon(_ element: JSONNode) throws(JSONProblem) {
            if let node = element["readTime"] { readTime = try node.timestamp() }
            if let node = element["explainMetrics"] { explanation = try QueryExplanation(rest: node) }
        }
    }

    private func run(
        _ query: Query, nearest search: VectorSearch? = nil, explain: RESTExplainOptions?,
        _ consistency: ReadConsistency, _ context: OperationContext
    ) async throws(DocumentError) -> StreamAnswer {
        var body = JSONWriter()
        body.raw("{\"structuredQuery\":")
        body.structuredQuery(query, nearest: search)
        body.explainOptions(explain)
        body.consistency(try selector(consistency, context))
        let reader = RESTWriteReader(database: database)
        var answer = StreamAnswer()
        for element in try await service.ask("runQuery", below: query.parent, body).stream() {
            try element.answer { (element) throws(JSONProblem) in
                if let node = element["document"] { answer.documents.append(try reader.stored(node)) }
                try answer.readCommon(element)
            }
        }
        return answer
    }

    private func run(
        _ query: Query, _ fields: [AggregateField], explain: RESTExplainOptions?, _ consistency: ReadConsistency,
        _ context: OperationContext
    ) async throws(DocumentError) -> StreamAnswer {
        var body = JSONWriter()
        body.raw("{\"structuredAggregationQuery\":")
        body.aggregation(query, fields)
        body.explainOptions(explain)
        body.consistency(try selector(consistency, context))
        var answer = StreamAnswer()
        for element in try await service.ask("runAggregationQuery", below: query.parent, body).stream() {
            try element.answer { (element) throws(JSONProblem) in
                if let result = element["result"]?["aggregateFields"] {
                    for index in fields.indices {
                        guard let value = result[RESTAggregation.alias(index)] else {
                            throw result.problem("a value is missing")
                        }
                        answer.values.append(try value.value())
                    }
                }
                try answer.readCommon(element)
            }
        }
        let isRun = explain?.analyze ?? true
        guard answer.values.count == (isRun ? fields.count : 0) else {
            throw FirestoreService.unreadable("it contains \(answer.values.count) of \(fields.count) values")
        }
        return answer
    }

    func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency
    ) async throws(DocumentError) -> PartitionAnswer {
        if case .transaction = consistency {
            throw .invalidArgument("a query can't be partitioned in a transaction of a remote document service")
        }
        var paths: [DocumentPath] = []
        var token: String?
        var known = 0
        repeat {
            known = paths.count
            var body = JSONWriter()
            body.raw("{\"structuredQuery\":")
            body.structuredQuery(query)
            body.raw(",\"partitionCount\":")
            body.string(String(points))
            if let token {
                body.raw(",\"pageToken\":")
                body.string(token)
            }
            body.consistency(consistency.selector)
            let answer = try await service.ask("partitionQuery", below: query.parent, body)
            token = try answer.answer { (answer) throws(JSONProblem) in
                for partition in try answer["partitions"]?.elements() ?? [] {
                    guard case .reference(let name)? = try partition["values"]?.elements().first?.value() else {
                        throw partition.problem("a partition needs a document to begin at")
                    }
                    paths.append(name.path)
                }
                return try answer["nextPageToken"]?.string()
            }
        } while token?.isEmpty == false && known < paths.count && paths.count < points
        paths.sort { DocumentPath.compare($0, $1) == .ascending }
        return PartitionAnswer(points: paths, readTime: now())
    }
}

extension RemoteFirestore {
    /// - Throws: `invalidArgument` if the owner has no open transaction of this id.
    private func selector(
        _ consistency: ReadConsistency, _ context: OperationContext
    ) throws(DocumentError) -> RemoteConsistencySelector {
        guard case .transaction(let id) = consistency else { return consistency.selector }
        let entry = try transactions.withLock { table throws(DocumentError) in try table.find(id, owner: context.owner)
        }
        return .transaction(entry.remoteID)
    }
}

/// The state that a read at the service sees.
enum RemoteConsistencySelector {
    case strong
    case transaction([UInt8])
    case at(Timestamp)
    /// In a new transaction that begins with the read.
    case new(TransactionMode, retrying: [UInt8]?)
}

extension ReadConsistency {
    /// The selector of a read outside a transaction.
    fileprivate var selector: RemoteConsistencySelector {
        if case .at(let time) = self { .at(time) } else { .strong }
    }
}

extension JSONWriter {
    /// Begins the body of a batchGet. Duplicate paths are sent once.
    mutating func documents(_ paths: [DocumentPath], in database: DatabaseID) {
        raw("{\"documents\":")
        array(Set(paths)) { $0.name($1, in: database) }
    }

    /// Ends a body with the state that its read sees.
    mutating func consistency(_ selector: RemoteConsistencySelector) {
        switch selector {
        case .strong: break
        case .transaction(let id):
            raw(",\"transaction\":")
            string(Base64.encode(id))
        case .at(let time):
            raw(",\"readTime\":")
            string(time.rfc3339)
        case .new(let mode, let retrying):
            raw(",\"newTransaction\":")
            transactionOptions(mode, retrying: retrying)
        }
        raw("}")
    }

    fileprivate mutating func explainOptions(_ options: RESTExplainOptions?) {
        guard let options else { return }
        options.analyze ? raw(",\"explainOptions\":{\"analyze\":true}") : raw(",\"explainOptions\":{}")
    }
}
