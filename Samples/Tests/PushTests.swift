import CryptoExtras
import FunctionsHTTPClient
import FunctionsRuntime
import FunctionsTesting
import Synchronization
import Testing

@testable import PushFunctions

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite struct PushTests {
    private static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    private static func account() throws -> String {
        let fields: JSONValue = [
            "project_id": "shop", "client_email": "push@shop.example", "token_uri": "https://token.example/token",
            "private_key": .string(try key.get().pemRepresentation),
        ]
        return String(decoding: try fields.serialized(), as: UTF8.self)
    }

    /// A message for each device, one of which is gone.
    @Test func aFollowerIsAnnouncedOnEachDevice() async throws {
        let tester = try FunctionsTester(PushFunctions(), secrets: ["PUSH_ACCOUNT": try Self.account()])
        let devices = tester.firestore.collection("users/ada/devices")
        for device in ["phone", "tablet", "gone"] { try await devices.document(device).setData([:]) }
        try await tester.firestore.document("users/ada/followers/bob").setData(["name": "Bob"])

        let requests = Mutex<[FetchRequest]>([])
        try await withFetch { request in
            requests.withLock { $0.append(request) }
            if request.url == "https://token.example/token" {
                return try .json(["access_token": JSONValue.string("t1"), "expires_in": 3600])
            }
            guard request.text.contains("gone") else { return .text(#"{"name":"projects/shop/messages/1"}"#) }
            return .text(#"{"error":{"details":[{"errorCode":"UNREGISTERED"}]}}"#, status: 404)
        } run: {
            try await tester.deliverAll()
        }

        let sent = requests.withLock { $0 }
        let messages = sent.filter { $0.url == "https://fcm.googleapis.com/v1/projects/shop/messages:send" }
        #expect(messages.count == 3)
        #expect(messages.allSatisfy { $0.headers["Authorization"] == "Bearer t1" })
        let first = try messages[0].json(as: JSONValue.self)["message"]
        #expect(first?["notification"]?["body"] == "Bob follows you.")
        #expect(try await devices.getDocuments().map(\.documentID) == ["phone", "tablet"])
    }

    @Test func aWrongProjectDeletesNoDevice() async throws {
        let tester = try FunctionsTester(PushFunctions(), secrets: ["PUSH_ACCOUNT": try Self.account()])
        let device = tester.firestore.document("users/ada/devices/phone")
        try await device.setData([:])
        try await tester.firestore.document("users/ada/followers/bob").setData(["name": "Bob"])
        try await withFetch { request in
            if request.url.hasSuffix("/token") {
                return try .json(["access_token": JSONValue.string("t1"), "expires_in": 3600])
            }
            return .text("Not Found", status: 404)
        } run: {
            _ = try await tester.deliverAll(toleratingFailures: true)
        }
        #expect(try await device.getDocument().exists)
    }
}
