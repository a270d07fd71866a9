@testable import TokenVerification
import Synchronization

/// A key source that returns what the test sets, and counts its fetches.
final class ScriptedKeySource: KeySource {
    private let answer: Mutex<Result<FetchedKeys, KeySourceError>>
    private let count = Mutex(0)
    private let gate: AsyncStream<Void>?
    private let began: AsyncStream<Void>.Continuation
    /// One element for each fetch that began.
    let fetches: AsyncStream<Void>

    /// - Parameter gate: Awaited by each fetch before it returns.
    init(_ keys: KeySet, maxAge: Int64 = 1000, gate: AsyncStream<Void>? = nil) {
        answer = Mutex(.success(FetchedKeys(keys: keys, maxAge: maxAge)))
        self.gate = gate
        (fetches, began) = AsyncStream.makeStream()
    }

    var fetchCount: Int { count.withLock { $0 } }

    func publish(_ keys: KeySet, maxAge: Int64 = 1000) {
        answer.withLock { $0 = .success(FetchedKeys(keys: keys, maxAge: maxAge)) }
    }

    func fail() { answer.withLock { $0 = .failure(KeySourceError("the issuer is out")) } }

    func fetch() async throws(KeySourceError) -> FetchedKeys {
        count.withLock { $0 += 1 }
        began.yield()
        if let gate { for await _ in gate { break } }
        guard !Task.isCancelled else { throw KeySourceError("cancelled") }
        return try answer.withLock { $0 }.get()
    }
}
