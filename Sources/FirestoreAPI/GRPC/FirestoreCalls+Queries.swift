import DocumentModel
import FirestoreJSON
import FirestoreMessages
import NIOCore
import SwiftProtobuf

/// The methods that answer with a stream of messages.
extension FirestoreCalls {
    @Sendable func batchGet(
        _ request: FSBatchGetDocumentsRequest, _ principal: Principal, _ answer: GRPCAnswer
    ) async throws(DocumentError) {
        try reader.check(database: request.database)
        var paths: [DocumentPath] = []
        for name in request.documents { paths.append(try reader.path(name)) }
        let mask = try MessageReader.fieldMask(request.hasMask ? request.mask : nil)
        let selector: Selector =
            switch request.consistencySelector {
            case .transaction(let id)?: .at(.transaction(try MessageReader.transaction(id)))
            case .newTransaction(let options)?: .new(try MessageReader.mode(options))
            case .readTime(let time)?: .at(.at(try MessageReader.timestamp(time)))
            case nil: .at(.strong)
            }
        try await reading(selector, principal) { transaction in
            // The first answer holds the transaction alone.
            var first = FSBatchGetDocumentsResponse()
            first.transaction = .init(transaction.restBytes)
            answer.send([.framed(first)])
        } _: { (consistency) throws(DocumentError) in
            let found = try await service.get(paths, consistency, as: principal)
            let time = MessageWriter.timestamp(found.readTime)
            for (path, document) in zip(paths, found.documents) {
                var response = FSBatchGetDocumentsResponse()
                if let document {
                    response.result = .found(writer.document(document.masked(by: mask)))
                } else {
                    response.result = .missing(writer.name(path))
                }
                response.readTime = time
                try await send(response, answer)
            }
        }
    }

    @Sendable func runQuery(
        _ request: FSRunQueryRequest, _ principal: Principal, _ answer: GRPCAnswer
    ) async throws(DocumentError) {
        guard case .structuredQuery(let structured)? = request.queryType else {
            throw .invalidArgument("a request needs its structured_query")
        }
        let (query, nearest) = try reader.search(structured, parent: try reader.parent(request.parent))
        try database.check(query)
        let analyze = request.hasExplainOptions ? request.explainOptions.analyze : nil
        let selector: Selector =
            switch request.consistencySelector {
            case .transaction(let id)?: .at(.transaction(try MessageReader.transaction(id)))
            case .newTransaction(let options)?: .new(try MessageReader.mode(options))
            case .readTime(let time)?: .at(.at(try MessageReader.timestamp(time)))
            case nil: .at(.strong)
            }
        try await reading(selector, principal) { transaction in
            var first = FSRunQueryResponse()
            first.transaction = .init(transaction.restBytes)
            answer.send([.framed(first)])
        } _: { (consistency) throws(DocumentError) in
            let found = try await service.find(query, nearest, analyze: analyze, consistency, as: principal)
            let time = MessageWriter.timestamp(found.readTime)
            if found.documents.isEmpty, analyze ?? true {
                var response = FSRunQueryResponse()
                response.readTime = time
                try await send(response, answer)
            }
            for document in found.documents {
                var response = FSRunQueryResponse()
                response.document = writer.document(document)
                response.readTime = time
                try await send(response, answer)
            }
            guard let explanation = found.explanation else { return }
            var last = FSRunQueryResponse()
            last.explainMetrics = MessageWriter.metrics(explanation, isAggregation: false)
            try await send(last, answer)
        }
    }

    @Sendable func runAggregation(
        _ request: FSRunAggregationQueryRequest, _ principal: Principal, _ answer: GRPCAnswer
    ) async throws(DocumentError) {
        guard case .structuredAggregationQuery(let structured)? = request.queryType else {
            throw .invalidArgument("a request needs its structured_aggregation_query")
        }
        let (query, fields, aliases) = try reader.aggregation(
            structured, parent: try reader.parent(request.parent))
        try database.check(query)
        let analyze = request.hasExplainOptions ? request.explainOptions.analyze : nil
        let selector: Selector =
            switch request.consistencySelector {
            case .transaction(let id)?: .at(.transaction(try MessageReader.transaction(id)))
            case .newTransaction(let options)?: .new(try MessageReader.mode(options))
            case .readTime(let time)?: .at(.at(try MessageReader.timestamp(time)))
            case nil: .at(.strong)
            }
        try await reading(selector, principal) { transaction in
            var first = FSRunAggregationQueryResponse()
            first.transaction = .init(transaction.restBytes)
            answer.send([.framed(first)])
        } _: { (consistency) throws(DocumentError) in
            func result(_ values: [Value], at time: Timestamp) -> FSRunAggregationQueryResponse {
                var response = FSRunAggregationQueryResponse()
                for (alias, value) in zip(aliases, values) {
                    response.result.aggregateFields[alias] = writer.value(value)
                }
                response.readTime = MessageWriter.timestamp(time)
                return response
            }
            guard let analyze else {
                let found = try await service.aggregate(query, fields, consistency, as: principal)
                return try await send(result(found.values, at: found.readTime), answer)
            }
            let found = try await service.explain(query, fields, analyze: analyze, consistency, as: principal)
            if analyze { try await send(result(found.values, at: found.readTime), answer) }
            var last = FSRunAggregationQueryResponse()
            last.explainMetrics = MessageWriter.metrics(found.explanation, isAggregation: true)
            try await send(last, answer)
        }
    }

    private enum Selector {
        case at(ReadConsistency)
        case new(TransactionMode)
    }

    /// Reads, in a new transaction if the request asks for one. If the read fails, the transaction is rolled back, because
    /// the client may not use it.
    private func reading(
        _ selector: Selector, _ principal: Principal, begun: (TransactionID) -> Void,
        _ body: (ReadConsistency) async throws(DocumentError) -> Void
    ) async throws(DocumentError) {
        switch selector {
        case .at(let consistency): try await body(consistency)
        case .new(let mode):
            let transaction = try await service.begin(mode, as: principal)
            begun(transaction)
            do throws(DocumentError) {
                try await body(.transaction(transaction))
            } catch {
                try? await service.rollback(transaction, as: principal)
                throw error
            }
        }
    }

    /// Sends a message, and waits if the client is slow.
    private func send(_ message: some Message, _ answer: GRPCAnswer) async throws(DocumentError) {
        guard !(ClientCall.current?.cancellation.isCancelled ?? false) else { throw .callerLeft }
        let bytes = ByteBuffer.framed(message)
        if answer.isWritable { answer.send([bytes]) } else { await answer.sendAndWait(bytes) }
    }
}
