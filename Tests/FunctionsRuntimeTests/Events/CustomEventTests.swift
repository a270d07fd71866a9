import DocumentModel
import FunctionManifest
import WorkerProtocol
import FunctionsRuntime
import FunctionsRuntime
import Testing

@Suite struct CustomEventTests {
    private struct Paid: Codable, Sendable, Equatable {
        var order: String
    }

    @Test func handlerGetsTheEventAndItsData() async throws {
        let kept = Kept<CustomEvent<Paid>>()
        let function = onCustomEventPublished("f", type: "shop.order.paid") { (event: CustomEvent<Paid>) in
            kept.keep(event)
        }
        let published = try CloudEvent(
            type: "shop.order.paid", source: "//shop", id: "e1", subject: "o1", attributes: ["shop": "tokyo"],
            json: Paid(order: "o1"))
        try await function.deliver(.of(.custom(published)), retryCount: 1)
        let event = try #require(kept.all.first)
        #expect(event.data == Paid(order: "o1"))
        #expect(event.id == "e1")
        // Another event may have the publisher's id, and none has this one.
        #expect(event.deliveryID == Event.id.description)
        #expect(event.type == "shop.order.paid")
        #expect(event.source == "//shop")
        #expect(event.subject == "o1")
        #expect(event.attributes == ["shop": "tokyo"])
        #expect(event.time == Event.time)
        #expect(event.attempt == 2)
        #expect(event.auth == EventAuth(.appUser, id: "ada"))
        #expect(event.cloudEvent.dataContentType == "application/json")
    }

    @Test func eventWithoutIDAndTimeGetsThose() async throws {
        let kept = Kept<CustomEvent<[UInt8]>>()
        let function = onCustomEventPublished("f", type: "t") { event in kept.keep(event) }
        try await function.deliver(.of(.custom(CloudEvent(type: "t", source: "s", data: [0, 255]))))
        let event = try #require(kept.all.first)
        #expect(event.data == [0, 255])
        #expect(event.cloudEvent.id == Event.id.description)
        #expect(event.cloudEvent.time == Event.time)
    }

    @Test func dataThatDoesNotFitFails() async throws {
        let function = onCustomEventPublished("f", type: "t") { (event: CustomEvent<Paid>) in }
        for (data, reason) in [
            (#"{"order":1}"#, "data.order: expected a string, found an integer"),
            ("", "data: expected an object, found null"),
            ("nonsense", "data: a value should be here, at byte 0"),
        ] {
            let event = CloudEvent(type: "t", source: "s", data: Array(data.utf8))
            #expect(await failure { try await function.deliver(.of(.custom(event))) }?.message == reason)
        }
    }

    @Test func messageTravelsAsPubSubHasIt() async throws {
        let kept = Kept<MessageEvent>()
        let function = onMessagePublished("f", topic: "orders") { event in kept.keep(event) }
        let message = PubSubMessage(
            data: Array(#"{"order":"ö\"1"}"#.utf8), attributes: ["a\u{1}\\": "\"b\"", "c": "ü"], orderingKey: "k\n",
            messageID: "17", publishTime: Timestamp(seconds: 1_767_323_000, nanoseconds: 5000))
        let event = try message.event(topic: "orders", project: "demo-test")
        #expect(event.type == "google.cloud.pubsub.topic.v1.messagePublished")
        #expect(event.source == "//pubsub.googleapis.com/projects/demo-test/topics/orders")
        #expect(event.attributes == ["topic": "orders"])
        #expect(event.id == "17")
        #expect(
            function.manifest.trigger
                == .event(.init(eventType: PubSubMessage.eventType, filters: ["topic": "orders"])))
        try await function.deliver(.of(.custom(event)))
        let received = try #require(kept.all.first)
        #expect(received.data.message == message)
        #expect(try received.data.message.json(as: Paid.self) == Paid(order: "ö\"1"))
        #expect(received.data.message.text == #"{"order":"ö\"1"}"#)
        #expect(received.topic == "orders")
        #expect(received.data.subscription == "projects/demo-test/subscriptions/orders")
        #expect(received.id == "17")
        #expect(received.deliveryID == Event.id.description)
    }

    @Test func messageOfAnotherPublisherNeedsNoMoreThanItsData() async throws {
        let kept = Kept<MessageEvent>()
        let function = onMessagePublished("f", topic: "orders") { event in kept.keep(event) }
        let event = CloudEvent(
            type: PubSubMessage.eventType, source: "s", data: Array(#"{"message":{"data":"aGk="}}"#.utf8))
        try await function.deliver(.of(.custom(event)))
        let received = try #require(kept.all.first)
        #expect(received.data.message.text == "hi")
        #expect(received.data.message.messageID == Event.id.description)
        #expect(received.data.message.publishTime == Event.time)
    }

    @Test func dataThatIsNoMessageFails() async throws {
        let function = onMessagePublished("f", topic: "orders") { _ in }
        let event = CloudEvent(type: PubSubMessage.eventType, source: "s", data: Array(#"{"data":1}"#.utf8))
        #expect(await failure { try await function.deliver(.of(.custom(event))) }?.message == "data.message: missing")
    }

    @Test func optionsAreInTheManifest() {
        let function = onCustomEventPublished(
            "f", type: "t", filters: ["source": "//shop"],
            .retry(.exponential(from: .milliseconds(250), to: .seconds(2), for: .seconds(3600), attempts: 5))
        ) { event in }
        #expect(
            function.manifest.trigger
                == .event(
                    .init(
                        eventType: "t", filters: ["source": "//shop"],
                        retry: .init(
                            minBackoffSeconds: 0.25, maxBackoffSeconds: 2, maxAgeSeconds: 3600, maxAttempts: 5))))
        let ordered = onDocumentCreated("f", document: "a/{b}", .retry(), .ordering(.perDocument)) { _ in }
        #expect(
            ordered.manifest.trigger
                == .document(.init(eventType: .created, document: "a/{b}", retry: .init(), isOrdered: true)))
        let dropped = onDocumentCreated("f", document: "a/{b}", .retry(), .retry(.never)) { _ in }
        #expect(dropped.manifest.trigger == .document(.init(eventType: .created, document: "a/{b}")))
    }
}
