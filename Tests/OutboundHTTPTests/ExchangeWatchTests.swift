import AsyncHTTPClient
import Synchronization
import TestSupport
import Testing

@testable import OutboundHTTP

/// The watch over an exchange's time, which begins beside the exchange and may run first.
@Suite(.endsHangs) struct ExchangeWatchTests {
    private static let limits = OutboundLimits(maxBytes: 100, silence: .seconds(10), whole: .seconds(30))

    @Test func anExchangeHasItsBoundsHoweverSoonItsWatchRuns() async {
        let clock = ManualClock()
        let ends = Mutex<[Int: OutboundError.Kind]>([:])
        var watches: [Task<Void, Never>] = []
        let count = 2000
        for number in 0..<count {
            let request = OutboundRequest(to: "http://127.0.0.1/", limits: Self.limits)
            // Never sent: no byte arrives.
            let watch = OpenExchange(ExchangeClock(clock)).begin(
                Exchange(request, host: "127.0.0.1", at: clock.elapsed())
            ) { outcome in
                guard case .failure(let error) = outcome else { return }
                ends.withLock { $0[number] = error.kind }
            }
            watches.append(watch)
        }
        clock.advance(by: .seconds(10))
        // A watch that doesn't know its exchange ends at once, and leaves it without bounds.
        for watch in watches { await watch.value }
        let kinds = ends.withLock { $0 }
        #expect(kinds.count == count)
        #expect(kinds.values.allSatisfy { $0 == .timedOut })
    }

    /// A connection that couldn't be established is reported like one that ended.
    @Test(arguments: [true, false])
    func anErrorDoesNotHideThatTheRequestWasSent(isSent: Bool) {
        let exchange = OpenExchange(ExchangeClock(ManualClock()))
        let request = OutboundRequest(to: "http://127.0.0.1/", body: [1], limits: Self.limits)
        let kind = Mutex<OutboundError.Kind?>(nil)
        exchange.begin(Exchange(request, host: "127.0.0.1", at: .zero)) { outcome in
            guard case .failure(let error) = outcome else { return }
            kind.withLock { $0 = error.kind }
        }
        if isSent { exchange.sent() }
        exchange.fail(HTTPClientError.connectTimeout)
        let ended = kind.withLock { $0 }
        #expect(ended == (isSent ? .lost : .notSent))
    }
}
