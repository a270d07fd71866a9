import DocumentModel
import FunctionManifest
import NIOCore
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// The errors of callables: codes, statuses, and what callers never see of them.
@Suite struct CallableErrorTests {
    static let hidden = #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#

    static let codes: [(code: StatusCode, name: String, status: Int)] = [
        (.ok, "OK", 200), (.cancelled, "CANCELLED", 499), (.unknown, "UNKNOWN", 500),
        (.invalidArgument, "INVALID_ARGUMENT", 400), (.deadlineExceeded, "DEADLINE_EXCEEDED", 504),
        (.notFound, "NOT_FOUND", 404), (.alreadyExists, "ALREADY_EXISTS", 409),
        (.permissionDenied, "PERMISSION_DENIED", 403), (.unauthenticated, "UNAUTHENTICATED", 401),
        (.resourceExhausted, "RESOURCE_EXHAUSTED", 429), (.failedPrecondition, "FAILED_PRECONDITION", 400),
        (.aborted, "ABORTED", 409), (.outOfRange, "OUT_OF_RANGE", 400), (.unimplemented, "UNIMPLEMENTED", 501),
        (.internal, "INTERNAL", 500), (.unavailable, "UNAVAILABLE", 503), (.dataLoss, "DATA_LOSS", 500),
    ]

    @Test(arguments: codes)
    func eachCodeHasItsStatusMessageAndDetails(code: StatusCode, name: String, status: Int) throws {
        try GatewayRing.with([.callable("refuse")]) { ring in
            ring.processes.handler = { $0.fail(code, "No \"way\"\n", details: $0.text == "null" ? nil : $0.text) }
            let plain = try #require(try ring.call("refuse").answer)
            #expect(plain.status == status)
            #expect(plain.body == #"{"error":{"message":"No \"way\"\n","status":"\#(name)"}}"#)
            let details = #"{"left":[1,null,"x"]}"#
            let detailed = try #require(try ring.call("refuse", details).answer)
            #expect(detailed.status == status)
            #expect(
                detailed.body == #"{"error":{"details":\#(details),"message":"No \"way\"\n","status":"\#(name)"}}"#)
        }
    }

    @Test func aLostWorkerIsAnsweredForAndItsReasonHidden() throws {
        try GatewayRing.with([.callable("traps"), .callable("other")]) { ring in
            let first = try ring.call("traps")
            let second = try ring.call("traps")
            let other = try ring.call("other")
            let worker = try #require(ring.processes.workers.first)
            worker.crash(signal: 11)
            ring.run()
            for client in [first, second] {
                #expect(client.answer?.status == 500)
                #expect(client.answer?.body == Self.hidden)
                #expect(!client.isClosed)
            }
            #expect(other.answer == nil)
            #expect(worker.end?.description == "crash, signal 11")
            let lost = ring.log.lines("a worker ended before its handlers did")
            #expect(lost.map { $0.metadata["worker.end"] } == ["crash, signal 11"])
            #expect(lost.first?.metadata["executions"]?.description.split(separator: " ").count == 2)
            // The next call has a worker of its own.
            let third = try ring.call("traps")
            ring.advance(.seconds(2))
            try #require(ring.worker?.next()).end("3")
            ring.run()
            #expect(third.answer?.body == #"{"result":3}"#)
        }
    }

    @Test func callsThatNoWorkerCanBeStartedForAreAnswered() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.start = .fails
            let client = try ring.call("f")
            ring.advance(.seconds(60))
            #expect(client.answer?.status == 500)
            #expect(client.answer?.body == Self.hidden)
        }
    }

    @Test func aWorkerThatIsNotReadyInTimeIsKilled() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.start = .silent
            let client = try ring.call("f")
            let worker = try #require(ring.worker)
            ring.advance(.milliseconds(9_900))
            #expect(worker.isRunning)
            ring.advance(.milliseconds(300))
            #expect(!worker.isRunning)
            #expect(worker.end == .slowStart)
            // The call waits for the next worker.
            ring.processes.start = .ready
            ring.advance(.seconds(20))
            try #require(ring.worker?.next()).end("1")
            ring.run()
            #expect(client.answer?.body == #"{"result":1}"#)
        }
    }

    @Test func anAnswerBeyondTheLimitIsTheFunctionsFault() throws {
        var limits = HostLimits()
        limits.responseBody = 1000
        try GatewayRing.with([.callable("large")], limits: limits) { ring in
            ring.processes.handler = { $0.end(String(repeating: "1", count: Int($0.text) ?? 0)) }
            #expect(try ring.call("large", "1000").answer?.status == 200)
            let answer = try #require(try ring.call("large", "1001").answer)
            #expect(answer.status == 500)
            #expect(answer.body == Self.hidden)
            let line = try #require(ring.log.lines("an answer is larger than it may be").first)
            #expect(line.metadata["limits.responseBody"] == "1000")
        }
    }

    /// The host looks for secrets in it, on the loop that serves other calls.
    @Test func anErrorBeyondTheLimitIsTheFunctionsFault() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.handler = { invocation in
                let details = String(repeating: "x", count: Int(invocation.text) ?? 0)
                invocation.fail(.aborted, "No.", details: "\"\(details)\"")
            }
            #expect(try ring.call("f", "1000000").answer?.status == 409)
            let answer = try #require(try ring.call("f", "\(InvocationFailure.maxFrame)").answer)
            #expect(answer.status == 500)
            #expect(answer.body == Self.hidden)
            #expect(ring.log.lines("an error is larger than it may be").count == 1)
            #expect(ring.worker?.isRunning == true)
        }
    }

    @Test func callsBeyondTheQueueAreRefused() throws {
        var limits = HostLimits()
        // A caller has as many places as it leaves free.
        limits.queue = 4
        try GatewayRing.with([.callable("f", concurrency: 1, maxInstances: 1)], limits: limits) { ring in
            let clients = try (0..<4).map { _ in try ring.call("f") }
            #expect(clients.map { $0.answer?.status } == [nil, nil, nil, 429])
            #expect(
                clients[3].answer?.body
                    == #"{"error":{"message":"Too many calls are waiting.","status":"RESOURCE_EXHAUSTED"}}"#)
            for number in 0..<3 {
                try #require(ring.next()).end("\(number)")
                ring.run()
            }
            #expect(clients.prefix(3).map { $0.answer?.body } == (0..<3).map { #"{"result":\#($0)}"# })
        }
    }

    @Test func theFirstOfTwoAnswersCounts() throws {
        try GatewayRing.with([.callable("f")]) { ring in
            ring.processes.handler = {
                $0.end("1")
                $0.end("2")
                $0.fail(.aborted, "three")
            }
            for _ in 0..<3 {
                let client = try ring.call("f")
                #expect(client.answer?.body == #"{"result":1}"#)
                #expect(client.received == client.answer?.text)
            }
            #expect(ring.worker?.isRunning == true)
            #expect(ring.processes.workers.count == 1)
        }
    }
}
