import Foundation
import Synchronization
import TestSupport
import Testing

@testable import OutboundHTTP

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The watch over an exchange's time, which begins beside the exchange and may run first.
@Suite(.endsHangs) struct ExchangeWatchTests {
    private static let limits = OutboundLimits(maxBytes: 100, silence: .seconds(10), whole: .seconds(30))

    @Test func anExchangeHasItsBoundsHoweverSoonItsWatchRuns() async throws {
        let clock = ManualClock()
        let exchanges = OpenExchanges(ExchangeClock(clock))
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1/"))
        let ends = Mutex<[Int: OutboundError.Kind]>([:])
        var watches: [Task<Void, Never>] = []
        let count = 2000
        for number in 0..<count {
            let request = OutboundRequest(to: "http://127.0.0.1/", limits: Self.limits)
            // Never resumed: no byte arrives.
            let watch = exchanges.begin(
                Exchange(request, host: "127.0.0.1", at: clock.elapsed()), for: session.dataTask(with: url)
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

    /// FoundationNetworking reports so any failure after another address of the host has refused the connection.
    @Test func aRefusedAddressDoesNotHideThatTheBodyWasSent() throws {
        let exchanges = OpenExchanges(ExchangeClock(ManualClock()))
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1/")))
        let request = OutboundRequest(to: "http://127.0.0.1/", body: [1], limits: Self.limits)
        let kind = Mutex<OutboundError.Kind?>(nil)
        exchanges.begin(Exchange(request, host: "127.0.0.1", at: .zero), for: task) { outcome in
            guard case .failure(let error) = outcome else { return }
            kind.withLock { $0 = error.kind }
        }
        exchanges.urlSession(
            session, task: task, didSendBodyData: 1, totalBytesSent: 1, totalBytesExpectedToSend: 1)
        exchanges.urlSession(session, task: task, didCompleteWithError: URLError(.cannotConnectToHost))
        let ended = kind.withLock { $0 }
        #expect(ended == .lost)
    }
}
