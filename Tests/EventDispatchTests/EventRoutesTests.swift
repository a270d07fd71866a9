import CommitPipeline
import HostTesting
import DocumentModel
import FunctionManifest
import DocumentStore
@testable import EventDispatch
import TestSupport
import Testing

@Suite(.endsHangs) struct EventRoutesTests {
    @Test func functionsAreToldOfWhatTheirManifestsSay() async throws {
        let ring = try await DispatcherRing(
            [
                .created("onItem"), .created("onOther", "others/{id}"),
                .test("onPaid", .event(.init(eventType: "shop.paid", filters: ["subject": "a"]))),
                .test("mail", .task(.init())),
                .test("call", .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil))),
            ], begins: false)
        try await ring.set("items/1")
        try await ring.set("items/1", ["n": .integer(1)])
        try await ring.commit(
            [],
            [
                .publish(CloudEvent(type: "shop.paid", source: "/s", subject: "a")),
                .publish(CloudEvent(type: "shop.paid", source: "/s", subject: "b")),
                .enqueue(TaskDraft(queue: "mail", body: [])),
            ])
        #expect(try await ring.pending("onItem").count == 1)
        #expect(try await ring.pending("onOther").isEmpty)
        #expect(try await ring.pending("onPaid").count == 1)
        #expect(try await ring.pending("mail").count == 1)
        await #expect(throws: DocumentError.self) {
            try await ring.commit([], [.enqueue(TaskDraft(queue: "call", body: []))])
        }
    }

    @Test func aChainBeyondTheLimitIsADeadLetterThatNamesIt() async throws {
        let ring = try await DispatcherRing([.created("onItem")])
        try await ring.set("items/1", in: OperationContext(chain: ["a", "b", "a", "b"]))
        let dead = try #require(try await ring.dead("onItem").first)
        #expect(dead.lastError?.hasSuffix("a → b → a → b → onItem") == true)
        #expect(try ring.counters("onItem").deadLetters == 1)
    }
}
