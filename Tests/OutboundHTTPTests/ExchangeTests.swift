import Testing

@testable import OutboundHTTP

/// The bounds on an exchange's time.
@Suite struct ExchangeTests {
    private func exchange() -> Exchange {
        let limits = OutboundLimits(maxBytes: 100, silence: .seconds(10), whole: .seconds(30))
        return Exchange(OutboundRequest(to: "http://a/", limits: limits), host: "a", at: .seconds(1))
    }

    @Test func theHeadAndEachByteEndTheSilence() {
        var exchange = exchange()
        #expect(exchange.deadline == .seconds(11))
        exchange.receiveHead(status: 200, headers: [:], at: .seconds(9))
        #expect(exchange.deadline == .seconds(19))
        #expect(exchange.expiry(at: .seconds(18)) == nil)
        let wantsMore = exchange.receive([1], at: .seconds(18))
        #expect(wantsMore)
        #expect(exchange.deadline == .seconds(28))
    }

    @Test func theWholeEndsWhateverArrives() {
        var exchange = exchange()
        exchange.receiveHead(status: 200, headers: [:], at: .seconds(29))
        #expect(exchange.deadline == .seconds(31))
        #expect(exchange.expiry(at: .seconds(30)) == nil)
        #expect(exchange.expiry(at: .seconds(31))?.kind == .timedOut)
    }

    @Test func aRequestThatWasSentMayHaveArrived() {
        var exchange = exchange()
        let refused = OutboundError(.notSent, host: "a", "refused")
        #expect(exchange.end(with: refused) == .failure(refused))
        exchange.sent()
        #expect(exchange.end(with: refused) == .failure(OutboundError(.lost, host: "a", "refused")))
    }

    @Test(arguments: [("GET", true), ("HEAD", true), ("POST", false), ("PUT", false), ("DELETE", false)])
    func onlyARequestThatChangesNothingIsRepeatedOnceSent(method: String, isRepeatable: Bool) {
        let limits = OutboundLimits(maxBytes: 100, whole: .seconds(30))
        let request = OutboundRequest(to: "http://a/", method: method, limits: limits)
        var exchange = Exchange(request, host: "a", at: .zero)
        #expect(exchange.isRepeatable)
        exchange.sent()
        #expect(exchange.isRepeatable == isRepeatable)
        exchange.receiveHead(status: 200, headers: [:], at: .zero)
        #expect(!exchange.isRepeatable)
    }
}
