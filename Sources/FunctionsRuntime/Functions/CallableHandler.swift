import NIOCore
import WorkerProtocol

/// A callable handler without its types: from an invocation to the result's JSON.
package struct CallableHandler: Sendable {
    package let isTransactional: Bool
    var authPolicy: (@Sendable (AuthData?) -> Bool)?
    var idempotency = Idempotency()
    private let body: @Sendable (InvocationContext, Idempotency) async throws -> [UInt8]

    init<Input, Output: Encodable & Sendable>(
        _ handler: @escaping @Sendable (CallableRequest<Input>) async throws -> Output
    ) {
        isTransactional = false
        body = { context, idempotency in
            let request = try CallableRequest<Input>(decoding: context)
            return try await idempotency.once(request.data, context) { try Self.encode(try await handler(request)) }
        }
    }

    init<Input, Chunk, Output: Encodable & Sendable>(
        _ handler: @escaping @Sendable (CallableRequest<Input>, StreamingResponse<Chunk>) async throws -> Output
    ) {
        self.init { request in try await handler(request, StreamingResponse(context: request.context.invocation)) }
    }

    init<Input, Output: Encodable & Sendable>(
        _ handler: @escaping @Sendable (CallableRequest<Input>, Transaction) async throws -> Output
    ) {
        isTransactional = true
        body = { context, idempotency in
            if idempotency.key != nil {
                try await idempotency.name(try CallableRequest<Input>(decoding: context).data, context)
            }
            let outcome = try await TransactionRunner(transport: context.transport).run(
                completing: { answer in answer },
                // Decoded and encoded within the transaction: a result that was stored earlier is found first, and
                // only a result that can be sent is committed.
                { transaction -> [UInt8] in
                    try Self.encode(try await handler(CallableRequest(decoding: context), transaction))
                })
            switch outcome {
            case .committed(let answer, _), .completed(let answer): return answer
            }
        }
    }

    /// - Returns: The result as JSON.
    /// - Throws: ``HttpsError`` for the caller; any other error is reported as INTERNAL.
    package func run(_ context: InvocationContext) async throws -> [UInt8] {
        if let authPolicy, !authPolicy(context.head.auth.map(AuthData.init)) {
            throw HttpsError(.permissionDenied, "Permission Denied")
        }
        return try await body(context, idempotency)
    }

    private static func encode(_ result: some Encodable) throws -> [UInt8] {
        try HandlerRun.bounded(try CallableEncoder().encode(result), "the limit is")
    }
}

extension CallableRequest {
    /// - Throws: ``HttpsError`` `invalidArgument` with the path that doesn't decode.
    fileprivate init(decoding context: InvocationContext) throws {
        do {
            let data = try context.body.withUnsafeReadableBytes {
                try CallableDecoder(firestore: Firestore(transport: context.transport)).decode(Input.self, from: $0)
            }
            self.init(data: data, context: context)
        } catch let error as DecodingError {
            throw HttpsError(.invalidArgument, error.explanation)
        }
    }
}
