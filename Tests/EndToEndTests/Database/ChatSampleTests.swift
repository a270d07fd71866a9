import Foundation
import TestSupport
import Testing

/// The samples under one host, with their rules: a client of the chat, by REST.
@Suite(.endsHangs) struct ChatSampleTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    @Test func aMessageIsSentModeratedAndLiked() async throws {
        let directory = try HostDirectory()
        try directory.configure(
            [.shop, .chat],
            extra: #""rules": "\#(Self.root)/firestore.rules", "databaseRules": "\#(Self.root)/database.rules.json""#)
        try await RunningHost.serving(in: directory) { host in
            let ada = try await SignedInUser.create(host)
            func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> HTTPAnswer {
                try await host.database.send(method, "/\(path).json?auth=\(ada.token)", body ?? "")
            }
            let time = #"{".sv":"timestamp"}"#
            func message(by author: String) -> String {
                #"{"text":"THIS IS DARN GOOD","author":"\#(author)","sent":\#(time)}"#
            }
            let forged = try await send("POST", "rooms/lobby/messages", message(by: "bob"))
            #expect(forged.status == 401, "\(forged.text)")
            let sent = try await send("POST", "rooms/lobby/messages", message(by: ada.uid))
            let id = try #require(sent.json["name"]?.text, "\(sent.text)")
            try await Bound.wait("the message is moderated") {
                try await send("GET", "rooms/lobby/messages/\(id)").json["moderated"] == .bool(true)
            }
            #expect(try await send("GET", "rooms/lobby/messages/\(id)/text").text == #""This is **** good""#)

            for _ in 0..<2 {
                let liked = try await host.call(
                    "like", #"{"room":"lobby","message":"\#(id)"}"#, region: "asia-northeast1", headers: ada.headers)
                #expect(liked.text == #"{"result":{"liked":true}}"#)
            }
            #expect(try await send("GET", "rooms/lobby/likes").text == #"{"\#(id)":1}"#)
            #expect(try await send("PUT", "rooms/lobby/likes/\(id)", "7").status == 401)

            let presence = #"{"state":"online","lastChanged":\#(time)}"#
            #expect(try await send("PUT", "status/\(ada.uid)", presence).status == 200)
            try await Bound.wait("the presence is mirrored") {
                try await host.firestore.send(
                    "GET", "/v1/projects/demo-shop/databases/(default)/documents/status/\(ada.uid)",
                    headers: ada.headers
                ).json["fields"]?["state"]?["stringValue"]?.text == "online"
            }
        }
    }
}
