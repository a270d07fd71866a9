import CommitPipeline
import Foundation
import RealtimeStore

/// Reads that occupy the reader of what is in no hurry, on a store whose pipeline has one such thread.
final class BlockedReaders: Sendable {
    /// One thread for what is in no hurry, and one place in its queue.
    static var configuration: CommitConfiguration {
        var configuration = CommitConfiguration()
        (configuration.maintenanceThreads, configuration.maxCallerReads) = (1, 1)
        return configuration
    }

    private let count: Int
    private let semaphore = DispatchSemaphore(value: 0)

    /// Returns once the thread is occupied.
    ///
    /// - Parameter fillsQueue: whether the place in the queue is occupied too.
    init(_ store: RealtimeStore, fillsQueue: Bool) async {
        count = fillsQueue ? 2 : 1
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        for number in 0..<count {
            store.read(in: RealtimeFixture.namespace, of: .maintenance) { [semaphore] _ in
                start.yield()
                semaphore.wait()
            } completion: { _ in
            }
            // The second one waits in the queue.
            if number == 0 { for await _ in started { break } }
        }
    }

    func release() { for _ in 0..<count { semaphore.signal() } }
}
