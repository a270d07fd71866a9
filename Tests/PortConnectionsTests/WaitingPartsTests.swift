import NIOCore
import NIOHTTP1
@testable import PortConnections
import Testing

@Suite struct WaitingPartsTests {
    private static let head = HTTPServerRequestPart.head(HTTPRequestHead(version: .http1_1, method: .POST, uri: "/"))

    private static func body(_ text: String) -> HTTPServerRequestPart { .body(ByteBuffer(string: text)) }

    @Test func thePartsOfOneBodyAreJoined() {
        var waiting = WaitingParts()
        for part in [Self.body("a"), Self.body("b"), .end(nil), Self.head, Self.body("c"), Self.body("d"), .end(nil)] {
            waiting.append(part)
        }
        var taken: [HTTPServerRequestPart] = []
        while let part = waiting.popFirst() { taken.append(part) }
        #expect(taken == [Self.body("ab"), .end(nil), Self.head, Self.body("cd"), .end(nil)])
        #expect(waiting.isEmpty)
    }

    @Test func aConnectionKeepsSomeRequestsAndNoMore() {
        var waiting = WaitingParts()
        for _ in 0..<WaitingParts.most { waiting.append(.end(nil)) }
        #expect(!waiting.areTooMany)
        waiting.append(.end(nil))
        #expect(waiting.areTooMany)
    }
}
