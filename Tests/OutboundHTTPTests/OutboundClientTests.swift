import OutboundHTTP
import Synchronization
import TestSupport
import Testing

/// Exchanges over real connections, on a clock that the test advances.
struct OutboundClientTests {
    private static let limits = OutboundLimits(maxBytes: 100, silence: .seconds(10), whole: .seconds(30))

    private func error(_ client: OutboundClient, _ request: OutboundRequest) async -> OutboundError? {
        do throws(OutboundError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    private func host(_ address: String) -> String {
        String(address.dropFirst("http://".count).prefix { $0 != "/" })
    }

    @Test(.endsHangs) func requestIsSentAndItsResponseRead() async throws {
        let seen = Mutex("")
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            seen.withLock { $0 = request }
            try await connection.send("HTTP/1.1 409 Conflict\r\nX-Kind: busy\r\nContent-Length: 2\r\n\r\nno")
        } body: { address in
            let response = try await OutboundClient(clock: ManualClock()).send(
                OutboundRequest(
                    to: address, headers: ["Authorization": "Bearer a"], body: Array("hello".utf8),
                    limits: Self.limits))
            #expect(response.status == 409)
            #expect(response.header("x-kind") == "busy")
            #expect(response.body == Array("no".utf8))
        }
        let request = seen.withLock { $0 }
        #expect(request.hasPrefix("POST /path?token=secret HTTP/1.1\r\n"))
        #expect(request.contains("Authorization: Bearer a\r\n"))
    }

    @Test(.endsHangs) func requestsRunSideBySide() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let (gate, open) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            arrival.yield()
            for await _ in gate {}
            try await connection.send("HTTP/1.1 204 No Content\r\n\r\n")
        } body: { address in
            let client = OutboundClient(clock: ManualClock())
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        try await client.send(OutboundRequest(to: address, limits: Self.limits)).status
                    }
                }
                var count = 0
                for await _ in arrivals {
                    count += 1
                    if count == 40 { break }
                }
                open.finish()
                for try await status in group { #expect(status == 204) }
            }
        }
    }

    /// The server sends each piece once the one before has arrived, and more than the limit on a response's bytes.
    @Test(.endsHangs) func aStreamIsReceivedAsItArrivesUntilNoMoreIsWanted() async throws {
        let piece = String(repeating: "x", count: 100)
        let (ticks, tick) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + piece)
            for await _ in ticks { try await connection.send(piece) }
            await connection.untilClosed()
        } body: { address in
            let received = Mutex(0)
            var request = OutboundRequest(to: address, limits: Self.limits)
            request.receive = { bytes in
                let total = received.withLock { received in
                    received += bytes.count
                    return received
                }
                guard total < 500 else {
                    tick.finish()
                    return false
                }
                if total.isMultiple(of: 100) { tick.yield() }
                return true
            }
            #expect(await error(OutboundClient(clock: ManualClock()), request)?.kind == .lost)
            #expect(received.withLock { $0 } == 500)
        }
    }

    @Test(.endsHangs) func aRefusedStreamIsCollected() async throws {
        let seen = Mutex("")
        try await ScriptedServer.run { connection in
            let request = try await connection.request()
            seen.withLock { $0 = request }
            try await connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
        } body: { address in
            var request = OutboundRequest(to: address, method: "DELETE", limits: Self.limits)
            request.receive = { _ in
                Issue.record("the response is not a stream")
                return false
            }
            let response = try await OutboundClient(clock: ManualClock()).send(request)
            #expect(response.status == 401)
            #expect(response.body == Array("no".utf8))
        }
        #expect(seen.withLock { $0 }.hasPrefix("DELETE /path"))
    }

    @Test(.endsHangs) func silentServerIsGivenUp() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            await connection.untilClosed()
        } body: { address in
            let clock = ManualClock()
            let client = OutboundClient(clock: clock)
            async let outcome = error(client, OutboundRequest(to: address, limits: Self.limits))
            await clock.sleepers()
            clock.advance(by: .milliseconds(9_999))
            // Not ended: it still sleeps.
            await clock.sleepers()
            clock.advance(by: .milliseconds(1))
            #expect(
                await outcome == OutboundError(.timedOut, host: host(address), "no byte arrived for 10.0 seconds"))
        }
    }

    /// Each byte arrives well within the bound on silence.
    @Test(.endsHangs) func slowTrickleEndsWithTheWhole() async throws {
        let (ticks, tick) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send(ScriptedServer.head)
            for await _ in ticks { try await connection.send("x") }
        } body: { address in
            let clock = ManualClock()
            let client = OutboundClient(clock: clock)
            let (arrivals, arrival) = AsyncStream<Int>.makeStream()
            let request = OutboundRequest(to: address, limits: Self.limits) { bytes in
                arrival.yield(bytes)
                return true
            }
            async let outcome = error(client, request)
            var received = arrivals.makeAsyncIterator()
            for second in stride(from: 0, to: 30, by: 6) {
                tick.yield()
                #expect(await received.next() == second / 6 + 1)
                clock.advance(by: .seconds(6))
            }
            #expect(
                await outcome
                    == OutboundError(.timedOut, host: host(address), "the exchange took longer than 30.0 seconds"))
            tick.finish()
        }
    }

    @Test(.endsHangs) func byteInTimeEndsTheSilence() async throws {
        let (ticks, tick) = AsyncStream<String>.makeStream()
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send(ScriptedServer.head)
            for await text in ticks { try await connection.send(text) }
        } body: { address in
            let clock = ManualClock()
            let client = OutboundClient(clock: clock)
            let (arrivals, arrival) = AsyncStream<Int>.makeStream()
            let request = OutboundRequest(to: address, limits: Self.limits) { bytes in
                arrival.yield(bytes)
                return true
            }
            async let response = client.send(request)
            var received = arrivals.makeAsyncIterator()
            await clock.sleepers()
            for _ in 0..<3 {
                clock.advance(by: .seconds(9))
                tick.yield("x")
                _ = await received.next()
            }
            tick.yield(String(repeating: "y", count: 97))
            let body = try await response.body
            #expect(body.count == 100)
            tick.finish()
        }
    }

    @Test(.endsHangs, arguments: [true, false])
    func responseThatIsTooLargeIsRefused(isAnnounced: Bool) async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            let length = isAnnounced ? "Content-Length: 101\r\n" : ""
            try await connection.send("HTTP/1.1 200 OK\r\n\(length)\r\n" + String(repeating: "x", count: 101))
            await connection.untilClosed()
        } body: { address in
            let request = OutboundRequest(to: address, limits: Self.limits)
            let expected = OutboundError(.tooLarge, host: host(address), "the response is larger than 100 bytes")
            #expect(await error(OutboundClient(clock: ManualClock()), request) == expected)
        }
    }

    @Test(.endsHangs) func responseWithoutMemoryIsGivenUp() async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send(ScriptedServer.head + String(repeating: "x", count: 100))
            await connection.untilClosed()
        } body: { address in
            let request = OutboundRequest(to: address, limits: Self.limits) { $0 <= 99 }
            #expect(await error(OutboundClient(clock: ManualClock()), request)?.kind == .outOfMemory)
        }
    }

    @Test(.endsHangs, arguments: ["", ScriptedServer.head, ScriptedServer.head + "half"])
    func responseThatBreaksOffIsLost(part: String) async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send(part)
        } body: { address in
            let error = await error(
                OutboundClient(clock: ManualClock()), OutboundRequest(to: address, limits: Self.limits))
            #expect(error?.kind == .lost)
            #expect(error?.host == host(address))
        }
    }

    @Test(
        .endsHangs,
        arguments: [ScriptedServer.head + "half", ScriptedServer.head + String(repeating: "x", count: 1000)])
    func statusAloneIsNotLostWithTheBody(text: String) async throws {
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            try await connection.send(text)
        } body: { address in
            let request = OutboundRequest(to: address, limits: Self.limits, need: .status)
            let response = try await OutboundClient(clock: ManualClock()).send(request)
            #expect(response.status == 200)
        }
    }

    @Test(.endsHangs) func cancelledRequestEndsAtOnce() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            arrival.yield()
            await connection.untilClosed()
        } body: { address in
            let client = OutboundClient(clock: ManualClock())
            let request = OutboundRequest(to: address, limits: Self.limits)
            let begun = Task { await error(client, request) }
            for await _ in arrivals { break }
            begun.cancel()
            #expect(await begun.value?.kind == .cancelled)
            let late = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await error(client, request)
            }
            #expect(await late.value?.kind == .cancelled)
        }
    }

    @Test(.endsHangs) func redirectIsNotFollowed() async throws {
        let count = Mutex(0)
        try await ScriptedServer.run { connection in
            _ = try await connection.request()
            count.withLock { $0 += 1 }
            try await connection.send("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
            _ = try await connection.request()
        } body: { address in
            let response = try await OutboundClient(clock: ManualClock()).send(
                OutboundRequest(to: address, limits: Self.limits))
            #expect(response.status == 302)
        }
        #expect(count.withLock { $0 } == 1)
    }

    @Test(.endsHangs) func serverThatIsNotThereHasReceivedNothing() async {
        // No server listens on the first port.
        let request = OutboundRequest(to: "http://127.0.0.1:1/path?token=secret", limits: Self.limits)
        let error = await error(OutboundClient(clock: ManualClock()), request)
        #expect(error?.kind == .notSent)
        #expect(error.map { "\($0)" }?.hasPrefix("127.0.0.1:1: ") == true)
        #expect(error.map { "\($0)" }?.contains("secret") == false)
    }

    @Test(arguments: [
        "", "http://:x", "http:", "/keys", "file:///etc/passwd", "http://127.0.0.1:65536/", "https://[::1]:0/",
    ])
    func addressThatIsNoHTTPURLIsRefused(address: String) async {
        let request = OutboundRequest(to: address, limits: Self.limits)
        #expect(
            await error(OutboundClient(clock: ManualClock()), request)
                == OutboundError(.notSent, host: "", "the address is not an HTTP URL"))
    }
}
