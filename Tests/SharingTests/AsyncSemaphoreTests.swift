import Sharing
import Synchronization
import TestSupport
import Testing

/// The order of waiting tasks, and what happens to those that leave.
struct AsyncSemaphoreTests {
    private func waiters(_ count: Int, of semaphore: AsyncSemaphore) async throws {
        let available = semaphore.available
        while semaphore.waiterCount < count {
            try #require(semaphore.available == available, "it is served instead of waiting")
            await Task.yield()
        }
    }

    @Test(.endsHangs) func unitsAreGivenInTheOrderOfAsking() async throws {
        let semaphore = AsyncSemaphore(10)
        try await semaphore.acquire(6)
        async let large: Void = semaphore.acquire(10)
        try await waiters(1, of: semaphore)
        async let small: Void = semaphore.acquire(1)
        try await waiters(2, of: semaphore)
        // There is enough for the second, which waits behind the first.
        #expect(semaphore.available == 4)
        semaphore.release(6)
        try #require(semaphore.waiterCount == 1)
        try await large
        semaphore.release(10)
        try #require(semaphore.waiterCount == 0)
        try await small
        #expect(semaphore.available == 9)
    }

    @Test(.endsHangs) func cancelledWaiterLetsThoseBehindIn() async throws {
        let semaphore = AsyncSemaphore(10)
        try await semaphore.acquire(6)
        let large = Task { try await semaphore.acquire(10) }
        try await waiters(1, of: semaphore)
        async let small: Void = semaphore.acquire(4)
        try await waiters(2, of: semaphore)
        large.cancel()
        try #require(semaphore.waiterCount == 0)
        await #expect(throws: CancellationError.self) { try await large.value }
        try await small
        #expect(semaphore.available == 0)
    }

    @Test(.endsHangs) func taskCancelledBeforehandHoldsNothing() async {
        let semaphore = AsyncSemaphore(1)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await semaphore.acquire()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(semaphore.available == 1)
    }

    @Test(.endsHangs) func someCanWaitThoughTheyAreCancelled() async throws {
        let semaphore = AsyncSemaphore(1)
        try await semaphore.acquire()
        let task = Task { await semaphore.acquireIgnoringCancellation() }
        try await waiters(1, of: semaphore)
        task.cancel()
        #expect(semaphore.waiterCount == 1)
        semaphore.release()
        await task.value
        #expect(semaphore.available == 0)
    }

    @Test(.endsHangs) func overcommittedUnitsAreMissedByOthers() async throws {
        let semaphore = AsyncSemaphore(2)
        #expect(semaphore.tryAcquire(2))
        #expect(!semaphore.tryAcquire())
        semaphore.acquireOvercommitting(3)
        #expect(semaphore.available == -3)
        async let waiter: Void = semaphore.acquire()
        try await waiters(1, of: semaphore)
        semaphore.release(3)
        #expect(semaphore.waiterCount == 1)
        semaphore.release(2)
        try await waiter
        #expect(semaphore.available == 1)
    }

    @Test(.endsHangs) func workRunsInOrderAndOnlySoMuchAtOnce() async {
        let semaphore = AsyncSemaphore(2)
        let (begun, beginning) = AsyncStream<Int>.makeStream()
        let gates = (0..<4).map { _ in AsyncStream<Void>.makeStream() }
        for number in 0..<4 {
            semaphore.run {
                beginning.yield(number)
                for await _ in gates[number].stream {}
            }
        }
        #expect(semaphore.waiterCount == 2)
        var order = begun.makeAsyncIterator()
        let first = [await order.next(), await order.next()].compactMap(\.self)
        #expect(Set(first) == [0, 1])
        gates[1].continuation.finish()
        #expect(await order.next() == 2)
        #expect(semaphore.waiterCount == 1)
        gates[0].continuation.finish()
        #expect(await order.next() == 3)
        gates[2].continuation.finish()
        gates[3].continuation.finish()
        while semaphore.available < 2 { await Task.yield() }
    }
}
