import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ChatFunctions

@Suite struct PresenceTests {
    private let chat: FunctionsTester

    init() throws { chat = try FunctionsTester(ChatFunctions()) }

    private var node: DatabaseReference { chat.database.reference(withPath: "status/ada") }

    private func mirrored() async throws -> Presence? {
        try await chat.firestore.document("status/ada").getDocumentIfExists(as: Presence.self)?.data
    }

    @Test func theDocumentFollowsTheNode() async throws {
        for state in ["online", "offline"] {
            try await node.setValue(["state": .string(state), "lastChanged": ServerValue.timestamp()])
            try await chat.deliverAll()
            #expect(try await mirrored()?.state.rawValue == state)
            // The clock goes on by a microsecond with each reading.
            let changed = try #require(try await mirrored()?.lastChanged)
            #expect((-1...0).contains(changed - Int(chat.now.microseconds / 1_000)))
            try await chat.advance(by: .seconds(60))
        }
        try await node.removeValue()
        try await chat.deliverAll()
        #expect(try await mirrored() == nil)
    }

    @Test func whoIsOnlineIsAQuery() async throws {
        let status = chat.database.reference(withPath: "status")
        for (uid, state) in [("ada", Presence.State.online), ("bob", .offline), ("eve", .online)] {
            try await status.child(uid).setValue(from: Presence(state: state, lastChanged: 1))
        }
        try await chat.deliverAll()
        let online = try await chat.firestore.collection("status").whereField("state", isEqualTo: "online")
            .getDocuments().documents
        #expect(online.map(\.documentID) == ["ada", "eve"])
    }

    /// As if the event of going online were handled after that of going offline.
    @Test func anEventThatIsLateChangesNothing() async throws {
        let offline = Presence(state: .offline, lastChanged: 2)
        try await node.setValue(from: offline)
        try await chat.deliverAll()
        try await chat.fire("mirrorPresence", reference: "status/ada", after: ["state": "online", "lastChanged": 1])
        #expect(try await mirrored() == offline)
        try await node.removeValue()
        try await chat.deliverAll()
        try await chat.fire("mirrorPresence", reference: "status/ada", after: ["state": "online", "lastChanged": 1])
        #expect(try await mirrored() == nil)
    }
}
