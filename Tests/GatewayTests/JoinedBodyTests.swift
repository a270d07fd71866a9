import NIOCore
import Testing

@testable import Gateway

/// The parts of a body that one read brings.
@Suite struct JoinedBodyTests {
    private static func part(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    @Test(arguments: [false, true]) func partsAreTakenAsOne(isStream: Bool) {
        var body = JoinedBody(isStream: isStream)
        var taken = body.take()
        #expect(taken == nil)
        for text in ["a", "bc", "d"] { body.append(Self.part(text)) }
        taken = body.take()
        #expect(taken == Self.part("abcd"))
        taken = body.take()
        #expect(taken == nil)
        body.append(Self.part("e"))
        taken = body.take()
        #expect(taken == Self.part("e"))
    }

    @Test func whatIsDiscardedIsNotTaken() {
        var body = JoinedBody(isStream: false)
        body.append(Self.part("a"))
        body.discard()
        let taken = body.take()
        #expect(taken == nil)
    }

    /// A connection is read once its server wants more, so that none of its parts waits behind another.
    @Test func partsOfAConnectionCostTheirBytes() {
        var body = JoinedBody(isStream: false)
        #expect(body.cost(of: Self.part("a")) == 1)
        body.append(Self.part("a"))
        #expect(body.cost(of: Self.part("bc")) == 2)
    }

    /// Only the first of a read takes memory of its own.
    @Test func theFirstSmallPartOfAStreamsReadCostsMore() {
        var body = JoinedBody(isStream: true)
        for _ in 0..<2 {
            #expect(body.cost(of: Self.part("a")) == 512)
            #expect(body.cost(of: ByteBuffer(repeating: 1, count: 1000)) == 1000)
            body.append(Self.part("a"))
            #expect(body.cost(of: Self.part("bc")) == 2)
            _ = body.take()
        }
    }
}
