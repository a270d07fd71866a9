import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CommitPipeline

@Suite(.endsHangs) struct JobQueueTests {
    /// What threads have taken.
    private final class Taken: Sendable {
        private let jobs = Mutex<[[Int]]>([])

        var all: [[Int]] { jobs.withLock { $0 } }

        func append(_ taken: [Int]) { jobs.withLock { $0.append(taken) } }
    }

    /// A thread that takes jobs until the queue is closed.
    private func take(from queue: JobQueue<Int>, into taken: Taken) -> DispatchSemaphore {
        let end = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while let jobs = queue.take() { taken.append(jobs) }
            end.signal()
        }
        return end
    }

    private func waitForSleep(_ queue: JobQueue<Int>) {
        while true {
            queue.condition.lock()
            let isAsleep = queue.waiting > 0 && queue.jobs.isEmpty
            queue.condition.unlock()
            if isAsleep { return }
            Thread.sleep(forTimeInterval: 0.0001)
        }
    }

    @Test func whoWaitsForJobsGoesOnAfterTheTimeout() {
        #expect(JobQueue<Int>().take(within: .milliseconds(5)) == [])
    }

    @Test func whatIsNotUrgentWaitsForTheNextJob() {
        for _ in 0..<100 {
            let (queue, taken) = (JobQueue<Int>(), Taken())
            let end = take(from: queue, into: taken)
            waitForSleep(queue)
            #expect(queue.put(1, isUrgent: false))
            // Were the thread woken, it would have time to take it.
            Thread.sleep(forTimeInterval: 0.0005)
            #expect(queue.put(2))
            queue.close()
            end.wait()
            #expect(taken.all == [[1, 2]])
        }
    }

    @Test func whatIsNotUrgentIsTakenAtTheEnd() {
        let (queue, taken) = (JobQueue<Int>(), Taken())
        let end = take(from: queue, into: taken)
        waitForSleep(queue)
        #expect(queue.put(1, isUrgent: false))
        queue.close()
        #expect(!queue.put(2))
        end.wait()
        #expect(taken.all == [[1]])
    }

    @Test func aFullQueueRefusesJobs() {
        let queue = JobQueue<Int>()
        #expect(queue.put(1, limit: 2))
        #expect(queue.put(2, limit: 2))
        #expect(!queue.put(3, limit: 2))
        #expect(queue.take() == [1, 2])
        #expect(queue.put(3, limit: 2))
        #expect(!queue.isEmpty)
        #expect(queue.take() == [3])
        #expect(queue.isEmpty)
        #expect(queue.take(within: .zero) == [])
    }
}
