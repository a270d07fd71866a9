/// A type-erased handler of events.
package struct EventHandler: Sendable {
    package let isTransactional: Bool
    private let body: @Sendable (ReceivedEvent) async throws -> Void

    /// - Parameter read: Decodes the handler's input from an event.
    init<Input: Sendable>(
        _ read: @escaping @Sendable (ReceivedEvent) throws -> Input,
        _ handler: @escaping @Sendable (Input) async throws -> Void
    ) {
        isTransactional = false
        body = { received in try await handler(try received.input(read)) }
    }

    /// A transactional handler: the commit of its writes also ends the delivery.
    init<Input: Sendable>(
        _ read: @escaping @Sendable (ReceivedEvent) throws -> Input,
        _ handler: @escaping @Sendable (Input, Transaction) async throws -> Void
    ) {
        isTransactional = true
        body = { received in
            let input = try received.input(read)
            let runner = TransactionRunner(
                transport: received.context.invocation.transport, options: .readWrite(attempts: Self.attempts))
            _ = try await runner.run(
                completing: { _ in [] }, { transaction in try await handler(input, transaction) })
        }
    }

    /// No caller waits for the result, so conflicts are retried as long as there is time and don't fail the attempt.
    private static let attempts = 50

    /// Runs the handler on the `DeliveryAttempt` in the invocation's body.
    ///
    /// - Throws: What the handler throws; ``UnreadableEvent`` if it doesn't run.
    package func run(_ context: InvocationContext) async throws {
        try await body(try ReceivedEvent(context))
    }
}
