import Foundation
import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ChatFunctions

/// What clients may do with the chat's documents. `SecurityRulesTests` has the rules of its tree.
@Suite struct ChatDocumentRulesTests {
    private let chat: FunctionsTester

    init() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        chat = try FunctionsTester(ChatFunctions(), rules: root.appending(path: "firestore.rules").path)
        try await chat.firestore.document("status/bob").setData(from: Presence(state: .online, lastChanged: 1))
        try await chat.firestore.document("rooms/lobby/messages/m/likes/bob").setData(["time": 1])
    }

    private func expectRefusal(
        _ work: () async throws -> Void, at location: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: DocumentError.self, sourceLocation: location) { try await work() }
        #expect(error?.code == .permissionDenied, sourceLocation: location)
    }

    @Test func signedInUsersSeeWhoIsOnline() async throws {
        let ada = chat.firestore(as: .user("ada"))
        #expect(try await ada.document("status/bob").getDocument().exists)
        let online = try await ada.collection("status").whereField("state", isEqualTo: "online").getDocuments()
        #expect(online.count == 1)
        await expectRefusal { _ = try await chat.firestore(as: .nobody).document("status/bob").getDocument() }
    }

    @Test func usersSeeTheirOwnLikes() async throws {
        let like = "rooms/lobby/messages/m/likes/bob"
        #expect(try await chat.firestore(as: .user("bob")).document(like).getDocument().exists)
        await expectRefusal { _ = try await chat.firestore(as: .user("ada")).document(like).getDocument() }
    }

    @Test(arguments: ["status/ada", "rooms/lobby/messages/m/likes/ada", "rooms/lobby"])
    func clientsWriteNoDocuments(path: String) async throws {
        await expectRefusal { try await chat.firestore(as: .user("ada")).document(path).setData(["state": "online"]) }
    }
}
