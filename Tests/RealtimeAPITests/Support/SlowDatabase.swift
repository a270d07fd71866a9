import RealtimeModel
import Synchronization

@testable import RealtimeAPI

/// A database that answers reads and writes, and ends listens, when it is asked to, and nothing else.
final class SlowDatabase: RealtimeDatabase {
    let profile = DatabaseProfile()
    private let writes = Mutex<[@Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void]>([])

    private let reads = Mutex<[@Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void]>([])

    private let listeners = Mutex<[any RealtimeListener]>([])

    func answerRead(_ content: RealtimeContent, version: Int64 = .max, number: Int = 0) {
        reads.withLock { $0.remove(at: number) }(.success(RealtimeReading(content, version: version)))
    }

    func failRead(_ error: RealtimeServiceError) { reads.withLock { $0.removeFirst() }(.failure(error)) }

    var readCount: Int { reads.withLock { $0.count } }

    func failWrite(_ error: RealtimeServiceError) { writes.withLock { $0.removeFirst() }(.failure(error)) }

    /// Ends the listen that began first.
    func endListen(_ error: RealtimeServiceError) { listeners.withLock { $0.removeFirst() }.receive(.ended(error)) }

    func notifyListeners(_ event: RealtimeListenEvent) {
        for listener in listeners.withLock({ $0 }) { listener.receive(event) }
    }

    /// - Parameter number: counts from zero, in the order of the listens.
    func notifyListener(_ number: Int, _ event: RealtimeListenEvent) {
        listeners.withLock { $0[number] }.receive(event)
    }

    var listenCount: Int { listeners.withLock { $0.count } }

    func answerWrite() { writes.withLock { $0.removeFirst() }(.success(RealtimeWritten())) }

    func write(
        _ write: RealtimeWrite, _ options: RealtimeWriteOptions, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) { writes.withLock { $0.append(completion) } }

    func read(
        _ read: RealtimeRead, as principal: RealtimePrincipal, for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeReading, RealtimeServiceError>) -> Void
    ) { reads.withLock { $0.append(completion) } }

    func stage(
        _ text: UnsafeRawBufferPointer, at path: RealtimePath, as principal: RealtimePrincipal,
        for client: RealtimeClient, progress: @escaping (Int) -> Bool
    ) throws(RealtimeServiceError) -> RealtimeStaging { .needsMemory }

    func listen(
        _ listen: RealtimeListen, as principal: RealtimePrincipal, for client: RealtimeClient,
        to listener: any RealtimeListener
    ) -> any RealtimeListening {
        listeners.withLock { $0.append(listener) }
        return Listening(self)
    }

    private let cancels = Mutex(0)

    /// How many listens were cancelled.
    var cancelCount: Int { cancels.withLock { $0 } }

    private final class Listening: RealtimeListening {
        private let database: SlowDatabase

        init(_ database: SlowDatabase) { self.database = database }

        func authorize(as principal: RealtimePrincipal, _ completion: @escaping @Sendable () -> Void) { completion() }
        func cancel() { database.cancels.withLock { $0 += 1 } }
    }

    func onDisconnect(
        _ request: RealtimeDisconnectRequest, session: String, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {}

    func endSession(
        _ session: String, of client: RealtimeClient?, _ completion: @escaping @Sendable (_ isDone: Bool) -> Void
    ) {
        completion(true)
    }

    func rulesSource() throws(RealtimeServiceError) -> RealtimeRulesSource { throw .unavailable("slow") }

    func setRules(
        _ source: [UInt8], isDryRun: Bool,
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {}

    func setting(_ name: String) -> [UInt8]? { nil }

    func setSetting(
        _ name: String, _ json: [UInt8],
        _ completion: @escaping @Sendable (Result<Void, RealtimeServiceError>) -> Void
    ) {}
}
