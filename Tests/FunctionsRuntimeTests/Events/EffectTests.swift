import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import FunctionsRuntime
import Testing

@Suite struct EffectTests {
    private static let transaction = TransactionID(rawValue: 1)

    /// What a handler's use of its event came to.
    private func use(
        over transport: ScriptedTransport,
        _ body: @escaping @Sendable (DocumentEvent<DocumentSnapshot>) async throws -> Void
    ) async throws {
        try await onDocumentCreated("f", document: "a/{b}", handler: body).deliver(
            .of(try change("a/b", after: [:])), over: transport)
    }

    private func task(_ body: String, _ change: (inout TaskDraft) -> Void = { _ in }) -> Effect {
        var draft = TaskDraft(
            queue: "sendReceipt", body: Array(body.utf8), headers: ["Content-Type": "application/json"])
        change(&draft)
        return .enqueue(draft)
    }

    @Test func enqueueingIsACommitOfItsOwn() async throws {
        let transport = ScriptedTransport([.committed(0), .committed(0)])
        try await use(over: transport) { event in
            try await event.taskQueue("sendReceipt").enqueue(["order": "o1"])
            try await event.context.taskQueue("sendReceipt").enqueue(
                Int64(1) << 60,
                options: TaskOptions(
                    scheduleDelay: .milliseconds(1500), id: "o-1_A", dispatchDeadline: .seconds(15),
                    headers: ["content-type": "application/x-own"]))
        }
        let first = task(#"{"data":{"order":"o1"}}"#)
        let wide = #"{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":"1152921504606846976"}"#
        let second = task(#"{"data":\#(wide)}"#) {
            $0.name = "o-1_A"
            $0.dispatchDeadline = 15
            $0.headers = ["content-type": "application/x-own"]
            $0.scheduleTime = Timestamp(microseconds: DocumentResponse.time.microseconds + 1_500_000)
        }
        #expect(
            transport.requests == [
                .commit([], transaction: nil, completing: nil, effects: [first]),
                .commit([], transaction: nil, completing: nil, effects: [second]),
            ])
    }

    struct Impossible: Sendable, CustomTestStringConvertible {
        var options: TaskOptions
        var reason: String
        var testDescription: String { reason }
    }

    @Test(arguments: [
        Impossible(options: TaskOptions(id: ""), reason: "isn't a valid task name"),
        Impossible(options: TaskOptions(id: "a/b"), reason: "isn't a valid task name"),
        Impossible(options: TaskOptions(id: String(repeating: "a", count: 501)), reason: "isn't a valid task name"),
        Impossible(options: TaskOptions(dispatchDeadline: .seconds(14)), reason: "it must be 15 s to 1800 s"),
        Impossible(
            options: TaskOptions(dispatchDeadline: .milliseconds(1_800_001)), reason: "it must be 15 s to 1800 s"),
        Impossible(options: TaskOptions(scheduleDelay: .seconds(30 * 86_400 + 1)), reason: "more than 30 days"),
        Impossible(options: TaskOptions(scheduleDelay: .seconds(Int64.max)), reason: "more than 30 days"),
        Impossible(
            options: TaskOptions(scheduleTime: Timestamp(seconds: Int64.max, nanoseconds: 0)),
            reason: "not within the years 1 to 9999"),
        Impossible(
            options: TaskOptions(scheduleTime: Timestamp(seconds: 253_402_300_799, nanoseconds: 0)),
            reason: "more than 30 days"),
    ])
    func impossibleTaskIsRefusedBeforeItIsSent(_ example: Impossible) async throws {
        let transport = ScriptedTransport()
        for isTransactional in [false, true] {
            let transport = isTransactional ? ScriptedTransport([.began(1)]) : transport
            let failure = await failure {
                try await use(over: transport) { event in
                    guard isTransactional else {
                        return try await event.taskQueue("q").enqueue(1, options: example.options)
                    }
                    try await event.firestore.runTransaction { try $0.enqueue(1, to: "q", options: example.options) }
                }
            }
            #expect(failure?.message.contains(example.reason) ?? false, "\(String(describing: failure))")
            #expect(!transport.requests.contains { if case .commit = $0 { true } else { false } })
        }
    }

    @Test func deletingATaskIsAnEffectOfACommit() async throws {
        let transport = ScriptedTransport([.committed(0), .began(1), .committed(0), .began(2)])
        try await use(over: transport) { event in
            try await event.taskQueue("mail").delete("receipt-1")
            try await event.firestore.runTransaction { try $0.deleteTask("receipt-2", from: "mail") }
        }
        #expect(
            transport.requests.filter { if case .commit = $0 { true } else { false } } == [
                .commit([], transaction: nil, completing: nil, effects: [.deleteTask("receipt-1", queue: "mail")]),
                .commit(
                    [], transaction: Self.transaction, completing: nil,
                    effects: [.deleteTask("receipt-2", queue: "mail")]),
            ])
        for id in ["", "a/b"] {
            let failures = [
                await failure { try await use(over: transport) { try await $0.taskQueue("mail").delete(id) } },
                await failure {
                    try await use(over: ScriptedTransport([.began(1)])) {
                        try await $0.firestore.runTransaction { try $0.deleteTask(id, from: "mail") }
                    }
                },
            ]
            for failure in failures { #expect(failure?.message.contains("isn't a valid task name") ?? false) }
        }
    }

    @Test func timeInThePastIsNow() async throws {
        let transport = ScriptedTransport([.committed(0), .committed(0)])
        try await use(over: transport) { event in
            let options = TaskOptions(scheduleTime: Timestamp(seconds: 5, nanoseconds: 0))
            try await event.taskQueue("sendReceipt").enqueue(1, options: options)
            try await event.taskQueue("sendReceipt").enqueue(1, options: TaskOptions(scheduleDelay: .seconds(-5)))
        }
        let effect = task(#"{"data":1}"#) { $0.scheduleTime = DocumentResponse.time }
        #expect(
            transport.requests == [
                .commit([], transaction: nil, completing: nil, effects: [effect]),
                .commit([], transaction: nil, completing: nil, effects: [effect]),
            ])
    }

    @Test func taskThatIsTooLargeIsRefused() async throws {
        let failure = await failure {
            try await use(over: ScriptedTransport()) { event in
                try await event.taskQueue("q").enqueue(String(repeating: "x", count: 1_048_576))
            }
        }
        #expect(failure?.message.contains("more than 1 MiB") ?? false)
    }

    @Test func effectsOfATransactionAreInItsCommitAndReadsMayFollowThem() async throws {
        let transport = ScriptedTransport([.began(1), .documents([nil]), .committed(1)])
        try await use(over: transport) { event in
            try await event.firestore.runTransaction { transaction in
                let order = transaction.firestore.document("orders/o1")
                try transaction.enqueue("o1", to: "sendReceipt")
                try transaction.publish(CloudEvent(type: "t", source: "s"))
                _ = try await transaction.getDocument(order)
                try transaction.deleteDocument(order)
            }
        }
        let effects = [task(#"{"data":"o1"}"#), .publish(CloudEvent(type: "t", source: "s"))]
        let path = try DocumentPath("orders/o1")
        #expect(
            transport.requests == [
                .begin(.readWrite(retrying: nil)), .get([path], .transaction(Self.transaction)),
                .commit(
                    [Write(path: path, operation: .delete)], transaction: Self.transaction, completing: nil,
                    effects: effects),
            ])
    }

    @Test func lostTransactionLeavesItsEffectsBehind() async throws {
        let transport = ScriptedTransport([.began(1), .aborted, .began(2), .committed(0)])
        try await use(over: transport) { event in
            try await event.firestore.runTransaction { try $0.enqueue("o1", to: "sendReceipt") }
        }
        #expect(
            transport.requests.last
                == .commit(
                    [], transaction: TransactionID(rawValue: 2), completing: nil, effects: [task(#"{"data":"o1"}"#)]))
    }

    @Test func readOnlyAndEndedTransactionsCauseNothing() async throws {
        let transport = ScriptedTransport([.began(1), .began(2), .committed(0)])
        let readOnly = await failure {
            try await use(over: transport) { event in
                try await event.firestore.runTransaction(.readOnly()) { try $0.enqueue(1, to: "q") }
            }
        }
        #expect(readOnly?.message.contains("a read-only transaction") ?? false)
        let ended = await failure {
            try await use(over: transport) { event in
                let kept = try await event.firestore.runTransaction { $0 }
                try kept.publish(CloudEvent(type: "t", source: "s"))
            }
        }
        #expect(ended?.message.contains("the transaction has ended") ?? false)
    }

    /// Only the clients of callables, and tasks in their form, have integers of 64 bits wrapped.
    @Test func publishedIntegersAreNumbers() async throws {
        let wide = ["n": Int64(1) << 60]
        let json = Array(#"{"n":1152921504606846976}"#.utf8)
        #expect(try CloudEvent(type: "t", source: "s", json: wide).data == json)
        let transport = ScriptedTransport([.committed(0), .began(1), .committed(0)])
        let kept = Kept<String>()
        try await use(over: transport) { event in
            kept.keep(try await event.topic("stock").publish(json: wide))
            kept.keep(try await event.firestore.runTransaction { try $0.publish(json: wide, to: "stock") })
        }
        let published = transport.requests.flatMap { request -> [Effect] in
            if case .commit(_, _, _, let effects) = request { effects } else { [] }
        }
        var expected: [Effect] = []
        for id in kept.all {
            let message = PubSubMessage(data: json, messageID: id, publishTime: DocumentResponse.time)
            expected.append(.publish(try message.event(topic: "stock", project: "demo-test")))
        }
        #expect(expected.count == 2)
        #expect(published == expected)
    }

    @Test func publishingSendsEventsTogetherAndMessagesWithAnID() async throws {
        let transport = ScriptedTransport([.committed(0), .committed(0)])
        let kept = Kept<String>()
        try await use(over: transport) { event in
            try await event.eventChannel().publish(
                CloudEvent(type: "t", source: "s"), CloudEvent(type: "u", source: "s", attributes: ["a1": "x"]))
            try await event.eventChannel().publish([])
            kept.keep(try await event.topic("orders").publish(json: ["n": 1], attributes: ["a": "b"], orderingKey: "k"))
        }
        let message = PubSubMessage(
            data: Array(#"{"n":1}"#.utf8), attributes: ["a": "b"], orderingKey: "k",
            messageID: try #require(kept.all.first), publishTime: DocumentResponse.time)
        #expect(
            transport.requests == [
                .commit(
                    [], transaction: nil, completing: nil,
                    effects: [
                        .publish(CloudEvent(type: "t", source: "s")),
                        .publish(CloudEvent(type: "u", source: "s", attributes: ["a1": "x"])),
                    ]),
                .commit(
                    [], transaction: nil, completing: nil,
                    effects: [.publish(try message.event(topic: "orders", project: "demo-test"))]),
            ])
    }

    @Test func impossibleEventIsRefusedBeforeItIsSent() async throws {
        let events = [
            CloudEvent(type: "", source: "s"), CloudEvent(type: "t", source: ""),
            CloudEvent(type: "t", source: "s", attributes: ["Upper": "x"]),
            CloudEvent(type: "t", source: "s", attributes: ["subject": "x"]),
            CloudEvent(type: "t", source: "s", time: Timestamp(seconds: .max, nanoseconds: 0)),
            CloudEvent(type: "t", source: "s", data: [UInt8](repeating: 0, count: 1_048_577)),
        ]
        for event in events {
            await #expect(throws: DocumentError.self) {
                try await use(over: ScriptedTransport([.committed(0)])) { try await $0.eventChannel().publish(event) }
            }
            await #expect(throws: DocumentError.self) {
                try await use(over: ScriptedTransport([.began(1), .committed(0)])) {
                    try await $0.firestore.runTransaction { try $0.publish(event) }
                }
            }
        }
        for topic in ["ab", "1ab", "goog-x", "a b c", "täg", String(repeating: "a", count: 256)] {
            await #expect(throws: DocumentError.self) {
                try await use(over: ScriptedTransport([.committed(0)])) {
                    _ = try await $0.topic(topic).publish(json: 1)
                }
            }
        }
        await #expect(throws: DocumentError.self) {
            try await use(over: ScriptedTransport([.committed(0)])) {
                _ = try await $0.topic("orders").publish(data: [])
            }
        }
    }
}
