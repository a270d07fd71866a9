import Dispatch
import Sharing
import Synchronization
import TestSupport
import Testing

struct FairWorkTests {
    @Test(.endsHangs) func callersTakeTurns() async {
        let work = FairWork("test")
        let gate = DispatchSemaphore(value: 0)
        let order = Mutex<[String]>([])
        await withCheckedContinuation { begun in
            work.add(of: 1) {
                begun.resume()
                gate.wait()
            }
        }
        await withCheckedContinuation { done in
            for (name, caller) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("b2", 2), ("c1", 3)]
                as [(String, UInt64)]
            {
                work.add(of: caller) {
                    let count = order.withLock { order in
                        order.append(name)
                        return order.count
                    }
                    if count == 6 { done.resume() }
                }
            }
            gate.signal()
        }
        #expect(order.withLock { $0 } == ["a1", "b1", "c1", "a2", "b2", "a3"])
    }
}
