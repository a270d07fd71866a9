/// Yields after each interval.
struct AsyncTimer: AsyncSequence, Sendable {
    let interval: Duration

    struct AsyncIterator: AsyncIteratorProtocol {
        let interval: Duration

        mutating func next() async -> Void? { try? await Task.sleep(for: interval) }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(interval: interval) }
}
