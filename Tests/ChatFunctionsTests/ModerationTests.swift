import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ChatFunctions

@Suite struct ModerationTests {
    private let chat: FunctionsTester

    init() throws { chat = try FunctionsTester(ChatFunctions()) }

    private var messages: DatabaseReference { chat.database.reference(withPath: "rooms/lobby/messages") }

    private func message(_ text: String) -> Message { Message(text: text, author: "ada", sent: 1) }

    private func stored(_ id: String) async throws -> Message? { try await messages.child(id).data() }

    @Test(arguments: [
        ("Hello", "Hello"), ("What the heck?", "What the ****?"), ("Darn-darn", "****-****"),
        ("a checked darning needle", "a checked darning needle"), ("NASA, OK", "Nasa, ok"), ("NASA", "NASA"),
        ("WHERE ARE YOU?", "Where are you?"), ("where ARE you", "where ARE you"),
        ("DARN IT ALL, ADA", "**** it all, ada"), ("darn HELLO NOW", "**** hello now"),
        ("こんにちは、みなさん", "こんにちは、みなさん"), ("1234567", "1234567"), ("", ""),
    ])
    func textsAreCleaned(text: String, expected: String) {
        #expect(Moderation.clean(text) == expected)
        #expect(Moderation.clean(expected) == expected)
    }

    @Test func aMessageIsChangedOnceAndCausesNoOtherEvent() async throws {
        try await messages.child("m").setValue(from: message("DARN GOOD NEWS"))
        let deliveries = try await chat.deliverAll()
        #expect(deliveries.map(\.function) == ["moderate"])
        var expected = message("**** good news")
        expected.moderated = true
        #expect(try await stored("m") == expected)
    }

    @Test func aMessageThatMayStayIsLeftAlone() async throws {
        try await messages.child("m").setValue(from: message("Good news"))
        #expect(try await chat.deliverAll().count == 1)
        #expect(try await stored("m") == message("Good news"))
    }

    @Test func aDeletedMessageStaysDeleted() async throws {
        try await messages.child("m").setValue(from: message("darn"))
        try await messages.child("m").removeValue()
        #expect(try await chat.deliverAll().count == 1)
        #expect(try await stored("m") == nil)
    }

    /// As if an admin had corrected the message before its event was handled.
    @Test func anEventThatIsLateChangesNothing() async throws {
        try await messages.child("m").setValue(from: message("Corrected"))
        try await chat.fire(
            "moderate", reference: "rooms/lobby/messages/m", after: ["text": "darn", "author": "ada", "sent": 1])
        #expect(try await stored("m") == message("Corrected"))
    }

    /// The rules refuse it, but admins aren't under the rules.
    @Test func whatIsNotAMessageIsADeadLetter() async throws {
        try await messages.child("m").setValue("darn")
        try await chat.deliverAll(toleratingFailures: true)
        #expect(try await chat.deadLetters().map(\.function) == ["moderate"])
    }
}
