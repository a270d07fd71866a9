import DocumentModel
@testable import FunctionManifest
import Testing

@Suite struct ManifestProblemTests {
    private static let good = FunctionManifest(
        name: "purchase", regions: ["asia-northeast1"], memoryMiB: 1024, timeoutSeconds: 240, cpu: 1, concurrency: 80,
        minInstances: 0, maxInstances: 10, labels: [:], secrets: [], ingress: "ALLOW_ALL", invoker: ["public"],
        isTransactional: true,
        trigger: .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: 30)))

    @Test func aPossibleFunctionHasNoProblems() {
        #expect(Manifest(functions: [Self.good]).problems.isEmpty)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout FunctionManifest) -> Void
        var expected: String

        init(_ name: String, _ expected: String, _ change: @escaping @Sendable (inout FunctionManifest) -> Void) {
            testDescription = name
            self.expected = expected
            self.change = change
        }
    }

    static let cases = [
        Case("name with a digit first", "the name must start with a letter") { $0.name = "1st" },
        Case("name too long", "at most 63") { $0.name = String(repeating: "a", count: 64) },
        Case("name with a slash", "the name must start") { $0.name = "a/b" },
        Case("no region", "it has no region") { $0.regions = [] },
        Case("bad region", "\"Tokyo!\" isn't a valid region") { $0.regions = ["Tokyo!"] },
        Case("odd memory", "memory is 300 MiB") { $0.memoryMiB = 300 },
        Case("no time", "the timeout is 0 s") { $0.timeoutSeconds = 0 },
        Case("too much time", "for a callable it must be 1 to 3600 s") { $0.timeoutSeconds = 3601 },
        Case("no cpu", "cpu is 0.0") {
            $0.cpu = 0
            $0.concurrency = 1
        },
        Case("concurrency on a share of a cpu", "it must be 1") { $0.cpu = 0.5 },
        Case("too much concurrency", "concurrency is 1001") { $0.concurrency = 1001 },
        Case("min over max", "minInstances is 11, more than maxInstances, 10") { $0.minInstances = 11 },
        Case("event too slow", "for a document trigger it must be 1 to 540 s") {
            $0.timeoutSeconds = 541
            $0.trigger = .document(.init(eventType: .created, document: "users/{id}"))
        },
        Case("pattern of a collection", "names a collection") {
            $0.trigger = .document(.init(eventType: .created, document: "users"))
        },
        Case("two captures of one name", "captures {id} twice") {
            $0.trigger = .document(.init(eventType: .created, document: "users/{id}/orders/{id}"))
        },
        Case("empty segment", "has an empty segment") {
            $0.trigger = .document(.init(eventType: .created, document: "users//{id}/x"))
        },
        Case("half a wildcard", "isn't a wildcard") {
            $0.trigger = .document(.init(eventType: .created, document: "users/{id"))
        },
        Case("empty schedule", "the schedule is empty") {
            $0.trigger = .schedule(
                .init(
                    schedule: " ", timeZone: "UTC", retryCount: 0, maxRetrySeconds: 0, minBackoffSeconds: 5,
                    maxBackoffSeconds: 3600, maxDoublings: 5))
        },
        Case("unreadable schedule", "the schedule \"every banana\" is invalid: it has too few words; write it as") {
            $0.trigger = .schedule(
                .init(
                    schedule: "every banana", timeZone: "UTC", retryCount: 0, maxRetrySeconds: 0, minBackoffSeconds: 5,
                    maxBackoffSeconds: 3600, maxDoublings: 5))
        },
        Case("retry that shrinks", "the backoff goes from 10.0 to 5.0 s") {
            $0.trigger = .document(
                .init(
                    eventType: .created, document: "a/{b}", retry: .init(minBackoffSeconds: 10, maxBackoffSeconds: 5)))
        },
        Case("retry without end", "the backoff goes from 10.0 to inf s") {
            $0.trigger = .event(.init(eventType: "t", retry: .init(maxBackoffSeconds: .infinity)))
        },
        Case("retry of no time", "the maximum age for retries is 0 s") {
            $0.trigger = .event(.init(eventType: "t", retry: .init(maxAgeSeconds: 0)))
        },
        Case("no attempt", "maxAttempts is 0") {
            $0.trigger = .event(.init(eventType: "t", retry: .init(maxAttempts: 0)))
        },
        Case("no event type", "the event type is empty") { $0.trigger = .event(.init(eventType: " ")) },
        Case("filter of an invalid attribute", "\"orderID\" isn't a valid event attribute") {
            $0.trigger = .event(.init(eventType: "t", filters: ["orderID": "1"]))
        },
        Case("filter by id", "events can't be filtered by id") {
            $0.trigger = .event(.init(eventType: "t", filters: ["id": "1"]))
        },
        Case("no topic", "\"or\" isn't a valid topic name") {
            $0.trigger = .event(
                .init(eventType: "google.cloud.pubsub.topic.v1.messagePublished", filters: ["topic": "or"]))
        },
        Case("task of no try", "maxAttempts is 0") { $0.trigger = .task(.init(maxAttempts: 0)) },
        Case("task with a backoff of NaN", "the backoff goes from nan") {
            $0.trigger = .task(.init(minBackoffSeconds: .nan))
        },
        Case("too many doublings", "maxDoublings is 65") { $0.trigger = .task(.init(maxDoublings: 65)) },
        Case("no dispatches", "maxConcurrentDispatches is 0") {
            $0.trigger = .task(.init(maxConcurrentDispatches: 0))
        },
        Case("too many dispatches", "maxDispatchesPerSecond is 501") {
            $0.trigger = .task(.init(maxDispatchesPerSecond: 501))
        },
        Case("task too slow", "for a task queue it must be 1 to 1800 s") {
            $0.timeoutSeconds = 1801
            $0.trigger = .task(.init())
        },
    ]

    @Test(arguments: cases) func anImpossibleFunctionIsTold(_ example: Case) {
        var manifest = Self.good
        example.change(&manifest)
        let problems = Manifest(functions: [manifest]).problems.map(\.description)
        #expect(problems.contains { $0.contains(example.expected) }, "\(problems)")
    }

    @Test func twoOfOneNameAreTold() {
        let problems = Manifest(functions: [Self.good, Self.good]).problems
        #expect(problems.map(\.description) == ["function \"purchase\": two functions have this name; rename one"])
    }
}
