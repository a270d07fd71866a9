import Dispatch
import DocumentModel
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import RealtimeModel
import Sharing
import Synchronization
import TestSupport
import Testing

@testable import RealtimeAPI

/// Large bodies of one address don't hold up those of others.
@Suite(.endsHangs) struct FairBodiesTests {
    @Test func addressesTakeTurnsAtTheGate() {
        let gate = Gate()
        let order = Mutex<[String]>([])
        let callers: [(String, UInt64)] = [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("b2", 2), ("c1", 3)]
        for (name, address) in callers {
            gate.enter(of: address) { order.withLock { $0.append(name) } }
        }
        for count in 1...6 {
            #expect(order.withLock { $0.count } == count)
            gate.leave()
        }
        #expect(order.withLock { $0 } == ["a1", "a2", "b1", "c1", "a3", "b2"])
        // All have left.
        gate.enter(of: 1) { order.withLock { $0.append("a4") } }
        #expect(order.withLock { $0.last } == "a4")
    }

    @Test func addressesTakeTurnsWithLargeBodies() async throws {
        let service = InMemoryService()
        let parts = RealtimeParts(
            service: service,
            credentials: RealtimeCredentials(isDevelopment: true) { $1(.failure(.invalidToken)) }, now: { 0 },
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let loop = RealtimeLoop(eventLoop: MultiThreadedEventLoopGroup.singleton.next(), parts: parts)
        let queue = ConnectionQueue(loop)
        let head = HTTPRequestHead(version: .http1_1, method: .PUT, uri: "/a.json")
        let request = try RESTRequest(head, for: DatabaseNames(fallback: "n"))
        let body = ByteBuffer(string: "\"" + String(repeating: "x", count: 100_000) + "\"")
        let order = Mutex<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        parts.longWork.add(of: 3) { gate.wait() }
        await withCheckedContinuation { done in
            for (name, address) in [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2)] as [(String, UInt64)] {
                let reader = RESTWriteReader(
                    request, RealtimeTarget(.root), name: nil, to: service.memory("n"), as: .admin,
                    for: RealtimeClient(address: address), until: OperationCancellation())
                reader.read(.buffer(body), on: queue) { _ in
                    let count = order.withLock { order in
                        order.append(name)
                        return order.count
                    }
                    if count == 4 { done.resume() }
                }
            }
            gate.signal()
        }
        #expect(order.withLock { $0 } == ["a1", "b1", "a2", "a3"])
    }
}
