import Synchronization
import Testing

@testable import FunctionsHost

struct ReadinessTests {
    @Test func aServerCountsOnce() {
        let ready = Mutex<[String: Int]?>(nil)
        let readiness = Readiness(servers: 2) { ports in ready.withLock { $0 = ports } }
        readiness.isRunning("control", port: 0)
        readiness.isRunning("control", port: 0)
        let early = ready.withLock { $0 }
        #expect(early == nil)
        readiness.isRunning("firestore", port: 8080)
        let ports = ready.withLock { $0 }
        #expect(ports == ["control": 0, "firestore": 8080])
    }
}
