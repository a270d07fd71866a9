import NIOCore
import WorkerProtocol

private struct OversizedResult: Error, CustomStringConvertible {
    let bytes: Int
    var description: String { "the answer has \(bytes) bytes; the limit is 32 MiB" }
}

/// A type-erased callable handler: from an invocation to the result's JSON.
package struct CallableHandler: Sendable {
    package let isTransactional: Bool
    var authPolicy: (@Sendable (AuthData?) -> Bool)?
    private let body: @Sendable (InvocationContext) async throws -> [UInt8]

    init<Output: Encodable & Sendable>(_ handler: @escaping @Sendable (InvocationContext) async throws -> Output) {
        isTransactional = false
        body = { context in try CallableEncoder().encode(try await handler(context)) }
    }

    init<Output: Encodable & Sendable>(
        _ handler: @escaping @Sendable (InvocationContext, Transaction) async throws -> Output
    ) {
        isTransactional = true
        body = { context in
            let outcome = try await TransactionRunner(transport: context.transport).run(
                completing: { answer in answer },
                { transaction -> [UInt8] in
                    let answer = try CallableEncoder().encode(try await handler(context, transaction))
                    // Checked before the commit: a committed result must be returnable.
                    guard answer.count <= Frame.maxAnswer else { throw OversizedResult(bytes: answer.count) }
                    return answer
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
        return try await body(context)
    }
}
