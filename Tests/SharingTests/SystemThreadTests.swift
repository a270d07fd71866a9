import Sharing
import TestSupport
import Testing

struct SystemThreadTests {
    @Test(.endsHangs) func aThreadRunsItsBody() async throws {
        let number = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int, any Error>) in
            do {
                try SystemThread.start("a long name of a thread") { continuation.resume(returning: 1) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        #expect(number == 1)
    }

    /// No machine has room for its stack.
    @Test func aThreadThatTheSystemRefusesIsReported() {
        #expect {
            try SystemThread.start("large", stackSize: 1 << 50) { Issue.record("it ran") }
        } throws: {
            "\($0)".hasPrefix("the thread large can't be started: ")
        }
    }
}
