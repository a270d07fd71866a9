import Foundation
import StrictJSON
import Testing

@testable import SecurityRules

/// Who may do what in the sample chat.
@Suite struct ChatRulesTests {
    private static let rules = Result {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try DatabaseRules(String(contentsOf: root.appending(path: "database.rules.json"), encoding: .utf8))
    }

    private static let now = "\(DatabaseSamples.now)"
    private static let key = "-OaBcDeFgHiJkLmNoPqR"
    private static let place = "/rooms/lobby/messages/" + key
    private static let hello = message()

    private static func message(text: String = #""Hello""#, author: String = "ada", sent: String = now) -> String {
        #"{"text": \#(text), "author": "\#(author)", "sent": \#(sent)}"#
    }

    private func writes(
        _ path: String, _ json: String, as uid: String? = "ada", in tree: DatabaseTree = DatabaseTree(.null)
    ) throws -> Bool {
        try DatabaseSamples.writes(Self.rules.get(), [(path, json)], as: uid, in: tree).isAllowed
    }

    @Test func theFileHasNoWarnings() throws { #expect(try Self.rules.get().warnings == []) }

    @Test(arguments: [
        ("/rooms/lobby", true), ("/rooms/lobby/messages", true), ("/rooms/lobby/likes/m", true), ("/rooms", false),
        ("/status/bob", true), ("/status", false), ("/users/ada", true), ("/users/bob", false), ("/other", false),
    ])
    func signedInUsersReadRoomsAndPresence(path: String, isAllowed: Bool) throws {
        #expect(try DatabaseSamples.reads(Self.rules.get(), path, as: "ada").isAllowed == isAllowed)
        #expect(try !DatabaseSamples.reads(Self.rules.get(), path).isAllowed)
    }

    @Test(arguments: writesOfMessages)
    func signedInUsersWriteMessagesOfTheirOwn(path: String, json: String, isAllowed: Bool) throws {
        #expect(try writes(path, json) == isAllowed)
        #expect(try !writes(path, json, as: nil))
    }

    private static let writesOfMessages: [(path: String, json: String, isAllowed: Bool)] = [
        (place, hello, true), (place, message(author: "bob"), false), (place, message(sent: "1"), false),
        (place, message(text: #""""#), false), (place, message(text: "7"), false), (place, message(text: "{}"), false),
        (place, message(text: #"{"a": 1}"#), false),
        (place, message(text: "\"" + String(repeating: "a", count: 1_000) + "\""), true),
        (place, message(text: "\"" + String(repeating: "a", count: 1_001) + "\""), false),
        (place, #"{"text": "Hello", "author": "ada"}"#, false),
        (place, #"{"text": "Hello", "author": "ada", "sent": \#(now), "moderated": true}"#, false),
        (place + "/text", #""Hello""#, false), ("/rooms/lobby/messages/m", hello, false),
        ("/rooms/Lobby!/messages/" + key, hello, false),
        ("/rooms/" + String(repeating: "l", count: 41) + "/messages/" + key, hello, false),
        ("/rooms/lobby/messages", #"{"\#(key)": \#(hello)}"#, false),
        ("/rooms/lobby/likes/" + key, "7", false), ("/rooms/lobby", "null", false), ("/rooms/lobby/topic", "1", false),
    ]

    @Test(arguments: [(place, hello), (place, "null"), (place + "/text", #""Bye""#), (place + "/moderated", "null")])
    func aMessageIsWrittenOnce(path: String, json: String) throws {
        let message = try DatabaseSamples.json(Self.hello)
        let tree = DatabaseTree(["rooms": ["lobby": ["messages": [Self.key: message]]]])
        #expect(try !writes(path, json, in: tree))
    }

    @Test(arguments: [
        (#"{"state": "online", "lastChanged": \#(now)}"#, true), ("null", true),
        (#"{"state": "away", "lastChanged": \#(now)}"#, false), (#"{"state": "online", "lastChanged": 1}"#, false),
        (#"{"state": "online"}"#, false), (#"{"state": "online", "lastChanged": \#(now), "x": 1}"#, false),
        (#""online""#, false),
    ])
    func usersWriteTheirOwnPresence(json: String, isAllowed: Bool) throws {
        #expect(try writes("/status/ada", json) == isAllowed)
        #expect(try !writes("/status/ada", json, as: "bob"))
        #expect(try !writes("/status/ada", json, as: nil))
    }
}
