import StorageEngine
import Synchronization
import TestSupport
import Testing

struct BlockingWorkTests {
    @Test func aStepIsInterruptedOnceItIsNotWantedAndNeverLater() throws {
        let interruptions = Mutex(0)
        let cancellation = BlockingWork.Cancellation()
        @Sendable func interrupt() { interruptions.withLock { $0 += 1 } }
        #expect(try cancellation.step(interrupt: interrupt) { 1 } == 1)
        #expect(throws: CancellationError.self) {
            try cancellation.step(interrupt: interrupt) {
                cancellation.cancel()
                #expect(interruptions.withLock { $0 } == 1)
                throw StorageError(.unavailable, "interrupted")
            }
        }
        cancellation.cancel()
        #expect(interruptions.withLock { $0 } == 1)
        #expect(throws: CancellationError.self) {
            try cancellation.step(interrupt: interrupt) { Issue.record("begun though it is not wanted") }
        }
    }

    @Test(.endsHangs) func aWaitEndsOnceItIsNotWantedAndNeverTwice() async throws {
        let cancellation = BlockingWork.Cancellation()
        #expect(try await cancellation.wait { done in done(1) } == 1)
        let late = Mutex<(@Sendable (Int) -> Void)?>(nil)
        await #expect(throws: CancellationError.self) {
            let _: Int = try await cancellation.wait { done in
                late.withLock { $0 = done }
                cancellation.cancel()
            }
        }
        late.withLock { $0?(2) }
        await #expect(throws: CancellationError.self) {
            let _: Int = try await cancellation.wait { _ in Issue.record("begun though it is not wanted") }
        }
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            defer { continuation.finish() }
            let _: Int = try await BlockingWork.Cancellation().wait { _ in continuation.yield() }
        }
        for await _ in begun { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// As at a limit of the processes of a user or a container. No machine has room for its stack.
    @Test(.endsHangs) func workWhoseThreadTheSystemRefusesFails() async {
        await #expect {
            try await BlockingWork.run("large", stackSize: 1 << 50) { _ in Issue.record("it ran") }
        } throws: {
            ($0 as? StorageError)?.kind == .unavailable
        }
    }
}
