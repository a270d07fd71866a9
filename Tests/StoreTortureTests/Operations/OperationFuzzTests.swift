import CommitPipeline
import DocumentModel
import DocumentStore
import StorageEngine
import TestSupport
import Testing
import WorkerProtocol

/// Workers' document operations, changed by their structure, decoded and performed on a store: each is answered, and
/// nothing is ever a trap. What isn't changed comes back as it was.
@Suite(.endsHangs(afterWorking: FuzzRounds.seconds ?? 0)) struct OperationFuzzTests {
    private static let start = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

    @Test func operationsComeBackAsTheyWere() async throws {
        try await FuzzRounds.run("operations' encodings", count: 500) { random, seed in
            var operations = RandomOperations(random: random)
            let request = operations.request(in: nil)
            #expect(
                try DocumentRequest(decoding: request.encoded).encoded.count == request.encoded.count, "seed \(seed)")
            #expect(try DocumentRequest(decoding: request.encoded) == request, "\(request); seed \(seed)")
            let response = operations.response()
            #expect(try DocumentResponse(decoding: response.encoded) == response, "\(response); seed \(seed)")
            var mutator = ByteMutator(operations.random)
            for _ in 0..<20 {
                let bytes = mutator.mutated(request.encoded, like: [response.encoded])
                if let read = try? DocumentRequest(decoding: bytes) {
                    #expect(
                        try DocumentRequest(decoding: read.encoded).encoded.count == read.encoded.count, "seed \(seed)")
                }
                let answer = mutator.mutated(response.encoded, like: [request.encoded])
                if let read = try? DocumentResponse(decoding: answer) {
                    _ = try DocumentResponse(decoding: read.encoded)
                }
            }
        }
    }

    @Test func changedOperationsAreAnswered() async throws {
        let clock = ManualClock(at: Self.start)
        let store = try DocumentStore(engine: MemoryEngine(), now: clock.timestamp, elapsed: clock.elapsed)
        try store.start()
        store.routeEvents(by: EventRoutes(queues: ["q"]))
        do {
            await FuzzRounds.run("operations on a store", count: 300) { random, seed in
                var operations = RandomOperations(random: random)
                let context = OperationContext(owner: seed % 16)
                var transaction: TransactionID?
                for _ in 0..<8 {
                    var bytes = operations.request(in: transaction).encoded
                    if !operations.random.once(in: 3) {
                        var mutator = ByteMutator(operations.random)
                        bytes = mutator.mutated(bytes, like: [operations.request(in: transaction).encoded])
                        operations.random = mutator.random
                    }
                    guard let request = try? DocumentRequest(decoding: bytes) else { continue }
                    let response = await request.perform(on: FunctionBackends(documents: store), in: context)
                    if case .began(let id, _) = response { transaction = id }
                    #expect(throws: Never.self, "seed \(seed)") { try DocumentResponse(decoding: response.encoded) }
                    clock.advance(by: .milliseconds(300))
                }
                store.release(owner: seed % 16)
            }
            var problems: [String] = []
            _ = try store.check(report: { problems.append($0) }, progress: { _ in })
            #expect(problems == [])
        } catch {
            await store.shutdown()
            throw error
        }
        await store.shutdown()
    }
}
