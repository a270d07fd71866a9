import StorageEngine
import DocumentModel

extension StoreWriter {
    /// Writes that stand for themselves, each a commit of its own in the open batch.
    ///
    /// - Throws: where storing failed half-way, and the batch must not be kept.
    func writeBatch(_ writes: [Write], _ operation: StoreOperation, _ storage: any StorageWriter) throws {
        do {
            try DocumentLimits.check(batch: writes)
        } catch {
            return operation.completion(.failed(error))
        }
        var results: [Result<WriteResult, DocumentError>] = []
        let start = batchBytes
        do {
            for write in writes {
                guard batchBytes - start < store.configuration.maxBatchBytes else {
                    results.append(.failure(Self.batchIsFull))
                    continue
                }
                let response = try commit([write], nil, completing: nil, [], operation.context, storage)
                switch response {
                case .committed(let result): results.append(contentsOf: result.writeResults.map { .success($0) })
                case .failed(let error): results.append(.failure(error))
                default: results.append(.failure(DocumentError(.internal, "a write got the answer of something else")))
                }
            }
        } catch {
            answerWhenDurable(operation, .failed(DocumentError(from: error)))
            throw error
        }
        answerWhenDurable(operation, .written(results))
    }

    private static let batchIsFull = DocumentError(
        .unavailable, "the writes before this one changed documents as large as a batch may hold; send it again")
}

extension DocumentLimits {
    static let maxBatchWrites = 500

    /// Checks writes that stand for themselves, as a whole.
    static func check(batch writes: [Write]) throws(DocumentError) {
        guard writes.count <= maxBatchWrites else {
            throw .invalidArgument(
                "a batch of single writes has \(writes.count) writes, more than \(maxBatchWrites), the limit")
        }
        var paths: Set<DocumentPath> = []
        for write in writes {
            guard paths.insert(write.path).inserted else {
                throw .invalidArgument(
                    "a batch of single writes has two of the document \"\(write.path)\"; each may have one")
            }
        }
        try WriteComputation.checkSize(of: writes)
    }
}
