import DocumentModel
import FirestoreMessages
import FirestoreJSON
import SwiftProtobuf

/// The methods that answer once.
extension FirestoreCalls {
    private var pages: DocumentPages { DocumentPages(service: service, database: database) }

    @Sendable func get(_ request: FSGetDocumentRequest, _ principal: Principal) async throws(DocumentError)
        -> FSDocument
    {
        let path = try reader.path(request.name)
        let consistency: ReadConsistency =
            switch request.consistencySelector {
            case .transaction(let id)?: .transaction(try MessageReader.transaction(id))
            case .readTime(let time)?: .at(try MessageReader.timestamp(time))
            case nil: .strong
            }
        let found = try await service.get([path], consistency, as: principal).documents
        guard let first = found.first, let document = first else {
            throw DocumentError(.notFound, "Document \"\(request.name)\" not found.")
        }
        return writer.document(document.masked(by: try MessageReader.fieldMask(request.hasMask ? request.mask : nil)))
    }

    @Sendable func list(
        _ request: FSListDocumentsRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSListDocumentsResponse {
        let mask = try MessageReader.fieldMask(request.hasMask ? request.mask : nil)
        var listing = DocumentPages.Listing(
            collection: try reader.collection(request.collectionID, below: request.parent))
        listing.size = Int(request.pageSize)
        listing.token = request.pageToken
        listing.order = request.orderBy
        listing.showsMissing = request.showMissing
        listing.hasFields = !request.hasMask || !request.mask.fieldPaths.isEmpty
        switch request.consistencySelector {
        case .transaction(let id)?: listing.consistency = .transaction(try MessageReader.transaction(id))
        case .readTime(let time)?: listing.consistency = .at(try MessageReader.timestamp(time))
        case nil: break
        }
        let (page, next) = try await pages.list(listing, as: principal)
        var response = FSListDocumentsResponse()
        response.documents = page.map { listed in
            if let document = listed.document { return writer.document(document.masked(by: mask)) }
            var missing = FSDocument()
            missing.name = writer.name(listed.path)
            return missing
        }
        response.nextPageToken = next ?? ""
        return response
    }

    @Sendable func create(
        _ request: FSCreateDocumentRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSDocument {
        let collection = try reader.collection(request.collectionID, below: request.parent)
        guard !request.documentID.contains("/") else {
            throw .invalidArgument("a document id must not contain a slash")
        }
        guard request.document.name.isEmpty else {
            throw .invalidArgument("omit the name; parent, collection_id and document_id name a new document")
        }
        let path = try collection.document(request.documentID.isEmpty ? AutomaticID.make() : request.documentID)
        let fields = try reader.fields(request.document.fields)
        let mask = try MessageReader.fieldMask(request.hasMask ? request.mask : nil)
        return writer.document(try await service.create(path, fields, as: principal).masked(by: mask))
    }

    @Sendable func update(
        _ request: FSUpdateDocumentRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSDocument {
        let path = try reader.path(request.document.name)
        let fields = try reader.fields(request.document.fields)
        let operation: Write.Operation =
            request.hasUpdateMask ? .update(fields, mask: try MessageReader.mask(request.updateMask)) : .set(fields)
        let precondition = request.hasCurrentDocument ? try MessageReader.precondition(request.currentDocument) : nil
        let mask = try MessageReader.fieldMask(request.hasMask ? request.mask : nil)
        let write = Write(path: path, operation: operation, precondition: precondition)
        try ClientCall.current?.hold([write])
        let result = try await service.commit([write], transaction: nil, as: principal)
        let document = await service.document(after: write, result, as: principal)
        return writer.document(document.masked(by: mask))
    }

    @Sendable func delete(
        _ request: FSDeleteDocumentRequest, _ principal: Principal
    ) async throws(DocumentError) -> Google_Protobuf_Empty {
        let precondition = request.hasCurrentDocument ? try MessageReader.precondition(request.currentDocument) : nil
        let write = Write(path: try reader.path(request.name), operation: .delete, precondition: precondition)
        _ = try await service.commit([write], transaction: nil, as: principal)
        return Google_Protobuf_Empty()
    }

    @Sendable func begin(
        _ request: FSBeginTransactionRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSBeginTransactionResponse {
        try reader.check(database: request.database)
        let mode = try MessageReader.mode(
            request.hasOptions ? request.options : nil, default: .readWrite(retrying: nil))
        var response = FSBeginTransactionResponse()
        response.transaction = .init(try await service.begin(mode, as: principal).restBytes)
        return response
    }

    @Sendable func commit(
        _ request: FSCommitRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSCommitResponse {
        let (writes, transaction) = try reader.commitRequest(request)
        try ClientCall.current?.hold(writes)
        return writer.commitResponse(try await service.commit(writes, transaction: transaction, as: principal))
    }

    @Sendable func rollback(
        _ request: FSRollbackRequest, _ principal: Principal
    ) async throws(DocumentError) -> Google_Protobuf_Empty {
        try reader.check(database: request.database)
        try await service.rollback(try MessageReader.transaction(request.transaction), as: principal)
        return Google_Protobuf_Empty()
    }

    @Sendable func batchWrite(
        _ request: FSBatchWriteRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSBatchWriteResponse {
        try reader.check(database: request.database)
        let writes = try reader.writes(request.writes)
        try ClientCall.current?.hold(writes)
        let results = try await service.batchWrite(writes, as: principal)
        var response = FSBatchWriteResponse()
        for result in results {
            var status = FSStatus()
            switch result {
            case .success(let result): response.writeResults.append(writer.writeResult(result))
            case .failure(let error):
                response.writeResults.append(FSWriteResult())
                status = MessageWriter.status(error)
            }
            response.status.append(status)
        }
        return response
    }

    @Sendable func partition(
        _ request: FSPartitionQueryRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSPartitionQueryResponse {
        guard case .structuredQuery(let structured)? = request.queryType else {
            throw .invalidArgument("a partition needs its structured_query")
        }
        var partition = DocumentPages.Partition()
        partition.query = try reader.query(structured, parent: try reader.parent(request.parent))
        partition.points = Int(clamping: request.partitionCount)
        partition.size = Int(request.pageSize)
        partition.token = request.pageToken
        if case .readTime(let time)? = request.consistencySelector {
            partition.consistency = .at(try MessageReader.timestamp(time))
        }
        let (points, next) = try await pages.partitions(partition, as: principal)
        var response = FSPartitionQueryResponse()
        response.partitions = points.map { path in
            var cursor = FSCursor()
            cursor.values = [writer.value(.reference(DocumentName(database: database, path: path)))]
            cursor.before = true
            return cursor
        }
        response.nextPageToken = next ?? ""
        return response
    }

    @Sendable func collectionIDs(
        _ request: FSListCollectionIdsRequest, _ principal: Principal
    ) async throws(DocumentError) -> FSListCollectionIdsResponse {
        var consistency = ReadConsistency.strong
        if case .readTime(let time)? = request.consistencySelector {
            consistency = .at(try MessageReader.timestamp(time))
        }
        let (ids, next) = try await pages.collectionIDs(
            below: try reader.parent(request.parent), size: Int(request.pageSize), token: request.pageToken,
            consistency, as: principal)
        var response = FSListCollectionIdsResponse()
        response.collectionIds = Array(ids)
        response.nextPageToken = next ?? ""
        return response
    }
}

extension MessageReader {
    static func transaction(_ bytes: some Sequence<UInt8>) throws(DocumentError) -> TransactionID {
        guard let id = TransactionID(restBytes: Array(bytes)) else {
            throw .invalidArgument("the transaction's id is invalid")
        }
        return id
    }

    /// - Parameter default: what empty options mean: a read-write transaction where one begins, a read-only one where it begins
    ///   with a read.
    static func mode(
        _ options: FSTransactionOptions?, default: TransactionMode = .readOnly(at: nil)
    ) throws(DocumentError) -> TransactionMode {
        switch options?.mode {
        case .readOnly(let options)?:
            guard case .readTime(let time)? = options.consistencySelector else { return .readOnly(at: nil) }
            return .readOnly(at: try timestamp(time))
        case .readWrite(let options)?:
            guard !options.retryTransaction.isEmpty else { return .readWrite(retrying: nil) }
            // A transaction that is no longer known begins as any other.
            return .readWrite(retrying: try transaction(options.retryTransaction))
        case nil: return `default`
        }
    }

    static func fieldMask(_ message: FSDocumentMask?) throws(DocumentError) -> FieldMask? {
        guard let message else { return nil }
        let paths = try mask(message)
        for path in paths { try DocumentLimits.checkSize(of: path) }
        return FieldMask(paths)
    }

    func collection(_ id: String, below parent: String) throws(DocumentError) -> CollectionPath {
        guard !id.isEmpty, !id.contains("/") else {
            throw .invalidArgument("a collection_id must be one segment of a path, not \"\(id)\"")
        }
        let prefix = try self.parent(parent).map { $0.string + "/" } ?? ""
        return try CollectionPath(prefix + id)
    }
}

extension MessageWriter {
    static func status(_ error: DocumentError) -> FSStatus {
        var status = FSStatus()
        status.code = Int32(error.code.rawValue)
        status.message = error.message
        return status
    }
}

extension MessageReader {
    func commitRequest(
        _ message: FSCommitRequest
    ) throws(DocumentError) -> (writes: [Write], transaction: TransactionID?) {
        try check(database: message.database)
        let transaction = message.transaction.isEmpty ? nil : try Self.transaction(message.transaction)
        return (try writes(message.writes), transaction)
    }
}

extension MessageWriter {
    func commitResponse(_ result: CommitResult) -> FSCommitResponse {
        var response = FSCommitResponse()
        response.writeResults = result.writeResults.map(writeResult)
        response.commitTime = Self.timestamp(result.commitTime)
        return response
    }
}
