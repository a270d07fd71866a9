import Foundation
import TestSupport
import Testing

@testable import DocumentModel

@Suite struct PubSubMessageTests {
    @Test func dataIsBase64AsFoundationHasIt() throws {
        var generator = SeededGenerator(seed: 7)
        for length in 0..<70 {
            let data = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let message = PubSubMessage(
                data: data, attributes: ["a": "b"], messageID: "1", publishTime: Timestamp(microseconds: 0))
            let event = try message.event(topic: "orders", project: "p")
            let json = try #require(
                try JSONSerialization.jsonObject(with: Data(event.data)) as? [String: Any])
            let sent = try #require(json["message"] as? [String: Any])
            #expect(sent["data"] as? String == Data(data).base64EncodedString())
            #expect(sent["publishTime"] as? String == "1970-01-01T00:00:00Z")
            #expect(sent["orderingKey"] == nil)
        }
    }

    @Test(arguments: ["abc", "a-._~+%9", "Goog", String(repeating: "a", count: 255)])
    func topicsMayBeCalledSo(name: String) { #expect(PubSubMessage.isTopicName(name)) }
}
