import DocumentModel
import FirestoreJSON
import FirestoreMessages
import NIOCore
import SwiftProtobuf

/// The methods that answer with a stream of messages.
extension FirestoreCalls {
    @Sendable func batchGet(
        _ request: FSBatchGetDocumentsRequest, _ principal: Principal, _ results: GRPCResults
    ) async throws(DocumentError) {
        try reader.check(database: request.database)
        let paths = try reader.paths(request.documents)
        let mask = try MessageReader.fieldMask(request.hasMask ? request.mask : nil)
        let selector: Selector =
            switch request.consistencySelector {
            case .transaction(let id)?: .at(.transaction(try MessageReader.transaction(id)))
            case .newTransaction(let options)?: .new(try MessageReader.mode(options))
            case .readTime(let time)?: .at(.at(try MessageReader.timestamp(time)))
            case nil: .at(.strong)
            }
        try await reading(selector, principal) { (transaction) throws(DocumentError) in
            // The first answer holds the transaction alone.
            var first = FSBatchGetDocumentsResponse()
            first.transaction = .init(transaction.restBytes)
            try await results.send(first)
        } _: { (consistency) throws(DocumentError) in
            let found = try await service.get(paths, consistency, as: principal)
            let time = MessageWriter.timestamp(found.readTime)
            for (path, document) in zip(paths, found.documents) {
                try await results.send(writer.response(document?.masked(by: mask), at: path, time))
            }
        }
    }

    @Sendable func runQuery(
        _ request: FSRunQueryRequest, _ principal: Principal, _ results: GRPCResults
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
        try await reading(selector, principal) { (transaction) throws(DocumentError) in
            var first = FSRunQueryResponse()
            first.transaction = .init(transaction.restBytes)
            try await results.send(first)
        } _: { (consistency) throws(DocumentError) in
            let found = try await service.find(query, nearest, analyze: analyze, consistency, as: principal)
            let time = MessageWriter.timestamp(found.readTime)
            var last = FSRunQueryResponse()
            if let explanation = found.explanation {
                last.explainMetrics = MessageWriter.metrics(explanation, isAggregation: false)
            }
            if analyze ?? true { last.readTime = time }
            for (index, document) in found.documents.enumerated() {
                var response = index == found.documents.count - 1 ? last : FSRunQueryResponse()
                response.document = writer.document(document)
                response.readTime = time
                if index == 0, nearest == nil { response.skippedResults = Int32(clamping: query.offset) }
                try await results.send(response)
            }
            if found.documents.isEmpty { try await results.send(last) }
        }
    }

    @Sendable func runAggregation(
        _ request: FSRunAggregationQueryRequest, _ principal: Principal, _ results: GRPCResults
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
        try await reading(selector, principal) { (transaction) throws(DocumentError) in
            var first = FSRunAggregationQueryResponse()
            first.transaction = .init(transaction.restBytes)
            try await results.send(first)
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
                return try await results.send(result(found.values, at: found.readTime))
            }
            let found = try await service.explain(query, fields, analyze: analyze, consistency, as: principal)
            if analyze { try await results.send(result(found.values, at: found.readTime)) }
            var last = FSRunAggregationQueryResponse()
            last.explainMetrics = MessageWriter.metrics(found.explanation, isAggregation: true)
            try await results.send(last)
        }
    }

    private enum Selector {
        case at(ReadConsistency)
        case new(TransactionMode)
    }

    /// Reads, in a new transaction if the request asks for one. If the read fails, the transaction is rolled back, because
    /// the client may not use it.
    private func reading(
        _ selector: Selector, _ principal: Principal, begun: (TransactionID) async throws(DocumentError) -> Void,
        _ body: (ReadConsistency) async throws(DocumentError) -> Void
    ) async throws(DocumentError) {
        switch selector {
        case .at(let consistency): try await body(consistency)
        case .new(let mode):
            let transaction = try await service.begin(mode, as: principal)
            do throws(DocumentError) {
                try await begun(transaction)
                try await body(.transaction(transaction))
            } catch {
                try? await service.rollback(transaction, as: principal)
                throw error
            }
        }
    }
}

extension MessageWriter {
    /// - Parameter document: nil if there is none at the path.
    func response(
        _ document: Document?, at path: DocumentPath, _ time: Google_Protobuf_Timestamp
    ) -> FSBatchGetDocumentsResponse {
        var response = FSBatchGetDocumentsResponse()
        response.result = document.map { .found(self.document($0)) } ?? .missing(name(path))
        response.readTime = time
        return response
    }
}
