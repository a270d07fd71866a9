@testable import DocumentModel
import TestSupport
import Testing

struct EventCodingTests {
    private static let time = Timestamp(microseconds: 1_700_000_000_123_456)

    private static func events() throws -> [Event] {
        let path = try DocumentPath("users/ada/orders/o1")
        func document(_ number: Int64) -> Document {
            Document(path: path, fields: ["n": .integer(number)], createTime: time, updateTime: time)
        }
        let task = TaskDraft(
            queue: "mail", name: "n1", body: [1, 2], headers: ["b": "2", "a": "1"], scheduleTime: time,
            dispatchDeadline: 30)
        let cloudEvent = CloudEvent(
            type: "order.paid", source: "/shop", id: "e1", subject: "s", time: time, dataContentType: "text/plain",
            dataSchema: "x:y", attributes: ["level": "vip"], data: [9])
        let contents: [Event.Content] = [
            .document(path, before: nil, after: document(1)), .document(path, before: document(1), after: document(2)),
            .document(path, before: document(2), after: nil), .schedule(job: "nightly", isManual: false),
            .schedule(job: "nightly", isManual: true), .task(task), .task(TaskDraft(queue: "q", body: [])),
            .custom(cloudEvent), .custom(CloudEvent(type: "t", source: "/s")),
            .reference(
                ReferenceChange(
                    instance: "demo-default-rtdb", path: "a/é", before: Array("1".utf8),
                    settings: [.init("", nil), .init("b/.priority", Array("2".utf8))], existsAfter: true)),
            .reference(ReferenceChange(instance: "", path: "", before: nil, settings: [], existsAfter: false)),
        ]
        return contents.enumerated().map { index, content in
            Event(
                id: EventID(version: time.microseconds, ordinal: UInt32(index)), time: time,
                auth: index.isMultiple(of: 2) ? EventAuth(.appUser, id: "ada") : EventAuth(.system),
                chain: index.isMultiple(of: 3) ? ["f", "g"] : [], content: content)
        }
    }

    @Test func eventsComeBackAsTheyWere() throws {
        for event in try Self.events() { #expect(try Event(decoding: event.encoded) == event) }
    }

    @Test func attemptsComeBackAsTheyWere() throws {
        for attempt in [
            DeliveryAttempt(event: [1, 2, 3], retryCount: 0),
            DeliveryAttempt(
                event: [], retryCount: 7, executionCount: 5, previousResponse: 503, retryReason: "the worker ended"),
        ] {
            #expect(try DeliveryAttempt(decoding: attempt.encoded) == attempt)
        }
    }

    @Test func effectsComeBackAsTheyWere() throws {
        let effects = try Self.events().compactMap { event -> Effect? in
            switch event.content {
            case .task(let task): .enqueue(task)
            case .custom(let event): .publish(event)
            default: nil
            }
        }
        let negative = TaskDraft(queue: "q", body: [], dispatchDeadline: -1)
        #expect(effects.count == 4)
        let all = effects + [.enqueue(negative), .deleteTask("n1", queue: "mail")]
        #expect(try Self.decodedEffects(Self.encoded(all)) == all)
    }

    private static func encoded(_ effects: [Effect]) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(effects) { $1.write(to: &$0) }
        return writer.bytes
    }

    private static func decodedEffects(_ bytes: [UInt8]) throws -> [Effect] {
        var reader = ByteReader(bytes)
        let effects = try reader.list { reader throws(DecodingFailure) in try Effect(from: &reader) }
        try reader.finish()
        return effects
    }

    @Test func hostileBytesAreRefusedWithoutHarm() throws {
        var generator = SeededGenerator(seed: 11)
        let attempt = DeliveryAttempt(event: [1], retryCount: 3, previousResponse: 500, retryReason: "no")
        let effects: [Effect] = [
            .enqueue(TaskDraft(queue: "q", name: "n", body: [1])), .publish(CloudEvent(type: "t", source: "s")),
            .deleteTask("n", queue: "q"),
        ]
        func check(_ whole: [UInt8], _ decode: ([UInt8]) throws -> Void) {
            for length in whole.indices {
                #expect(throws: DecodingFailure.self) { try decode(Array(whole[..<length])) }
            }
            #expect(throws: DecodingFailure.self) { try decode(whole + [0]) }
            for _ in 0..<1000 {
                var damaged = whole
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let place = damaged.indices.randomElement(using: &generator) ?? 0
                    damaged[place] = .random(in: 0 ... .max, using: &generator)
                }
                try? decode(damaged)
            }
        }
        for event in try Self.events() {
            check(event.encoded) { _ = try Event(decoding: $0) }
            #expect(throws: DecodingFailure.self) { try Event(decoding: [2] + event.encoded.dropFirst()) }
        }
        check(attempt.encoded) { _ = try DeliveryAttempt(decoding: $0) }
        check(Self.encoded(effects)) { _ = try Self.decodedEffects($0) }
    }

    @Test func contentsThatThereAreNotAreRefused() throws {
        let event = Event(
            id: EventID(version: 1, ordinal: 0), time: Self.time, auth: EventAuth(.system),
            content: .schedule(job: "j", isManual: false))
        var bytes = event.encoded
        // The tag stands before the job's name and the flag.
        bytes[bytes.count - 4] = 9
        #expect(throws: DecodingFailure("unknown event content tag 9")) { try Event(decoding: bytes) }
        bytes = event.encoded
        bytes[bytes.count - 1] = 2
        #expect(throws: DecodingFailure.self) { try Event(decoding: bytes) }
        var far = [UInt8](event.encoded[..<9])
        far += [0xFF, 0xFF, 0xFF, 0xFF, 0x7F] + event.encoded[10...]
        #expect(throws: DecodingFailure.self) { try Event(decoding: far) }
    }

    @Test func eventsAreNamedByTextsThatSortAsTheyDo() {
        let ids = [
            EventID(version: 0, ordinal: 0), EventID(version: 0, ordinal: 1), EventID(version: 0, ordinal: .max),
            EventID(version: 1, ordinal: 0), EventID(version: Self.time.microseconds, ordinal: 2),
            EventID(version: .max, ordinal: .max),
        ]
        #expect(ids == ids.sorted())
        #expect(ids.map(\.description) == ids.map(\.description).sorted())
        for id in ids {
            #expect(id.description.utf8.count == 25)
            #expect(EventID(id.description) == id)
        }
        #expect(ids[1].description == "0000000000000000-00000001")
    }

    @Test(arguments: [
        "", "-", "0000000000000000", "0000000000000000-0000000", "0000000000000000-000000001",
        "000000000000000-00000001",
        "+000000000000001-00000001", "0000000000000001-+0000001", "000000000000000A-00000001",
        "ffffffffffffffff-00000000", "0000000000000001-00000001-", " 000000000000001-00000001",
        "00000000000000g1-00000001",
    ])
    func otherTextsNameNoEvent(text: String) { #expect(EventID(text) == nil) }
}
