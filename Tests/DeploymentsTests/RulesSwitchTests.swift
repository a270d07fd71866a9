import CommitPipeline
@testable import Deployments
import Dispatch
import DocumentModel
import DocumentStore
import HostConfiguration
import HostTesting
import SecurityRules
import StorageEngine
import Synchronization
import TestSupport
import Testing

@Suite(.endsHangs) struct RulesSwitchTests {
    private let first: ProjectRules
    private let last: ProjectRules

    init() throws {
        first = try Self.rules("first.json", reads: "true")
        last = try Self.rules("last.json", reads: "false")
    }

    private static func rules(_ path: String, reads: String) throws -> ProjectRules {
        var rules = ProjectRules()
        rules.databaseRules = try RulesFile<DatabaseRules>(
            Array(#"{"rules": {".read": \#(reads)}}"#.utf8), path: path)
        return rules
    }

    /// In development, changed files are served while a deployment is.
    @Test func ofTwoChangesAtOnceTheLaterOneStays() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let taken = Mutex<[String]>([])
        let served = Mutex<RulesSwitch?>(nil)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let rules = RulesSwitch(
            ClientRules(.closed), ServedRules(rules: ProjectRules()), isDevelopment: true, logger: LogLines().logger,
            databaseRules: { [last] rules in
                guard let path = rules?.path else { return }
                if path == "first.json" {
                    let others = DispatchSemaphore(value: 0)
                    DispatchQueue.global().async {
                        served.withLock { $0 }?.serve(last, release: nil, in: store)
                        others.signal()
                        end.finish()
                    }
                    // The other change isn't taken over meanwhile, so this ends by itself.
                    _ = others.wait(timeout: .now() + .milliseconds(500))
                }
                taken.withLock { $0.append(path) }
            })
        served.withLock { $0 = rules }
        rules.serve(first, release: nil, in: store)
        for await _ in ends {}
        #expect(taken.withLock { $0 } == ["first.json", "last.json"])
        #expect(rules.current.databaseRules?.path == "last.json")
        served.withLock { $0 = nil }
        await store.shutdown()
    }
}
