/// The handler of a function that is told of events, with its types erased.
package struct EventHandler: Sendable {
    package let isTransactional: Bool
    private let body: @Sendable (ReceivedEvent) async throws -> Void

    /// - Parameter read: makes of an event what the handler takes.
    init<Input: Sendable>(
        _ read: @escaping @Sendable (ReceivedEvent) throws -> Input,
        _ handler: @escaping @Sendable (Input) async throws -> Void
    ) {
        isTransactional = false
        body = { received in try await handler(try read(received)) }
    }

    /// A transactional handler: the commit of what it does also ends the delivery.
    init<Input: Sendable>(
        _ read: @escaping @Sendable (ReceivedEvent) throws -> Input,
        _ handler: @escaping @Sendable (Input, Transaction) async throws -> Void
    ) {
        isTransactional = true
        body = { received in
            let input = try read(received)
            let runner = TransactionRunner(
                transport: received.context.invocation.transport, options: .readWrite(attempts: Self.attempts))
            _ = try await runner.run(
                completing: { _ in [] }, { transaction in try await handler(input, transaction) })
        }
    }

    /// Nobody waits for the answer: losing to others is no failure of the event, as long as there is time.
    private static let attempts = 50

    /// Runs the handler on the `DeliveryAttempt` that is the invocation's body.
    ///
    /// - Throws: what the handler throws; ``UnreadableEvent`` and `DecodingError` where it isn't run.
    package func run(_ context: InvocationContext) async throws {
        try await body(try ReceivedEvent(context))
    }
}
