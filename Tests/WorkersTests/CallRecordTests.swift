import WorkerTesting
import Sharing
import DocumentModel
import FunctionManifest
import HostProcess
import NIOCore
import StrictJSON
import Synchronization
import Testing
import WorkerProtocol
@testable import Workers

/// What is recorded of calls.
struct CallRecordTests {
    private final class Records: Sendable {
        private let batches = Mutex<[[CallRecord]]>([])

        func add(_ records: [CallRecord]) { batches.withLock { $0.append(records) } }
        var counts: [Int] { batches.withLock { $0.map(\.count) } }
        var all: [CallRecord] { batches.withLock { Array($0.joined()) } }
    }

    private let records = Records()

    private func ring(timeoutSeconds: Int = 10) -> InvocationRing {
        InvocationRing(timeoutSeconds: timeoutSeconds, concurrency: 10) { [records] batch, _ in records.add(batch) }
    }

    @Test func callsAreRecordedTogetherWithTheirStatusAndTimes() throws {
        let ring = ring()
        let clients = try (0..<3).map { _ in try ring.admit() }
        let worker = try #require(ring.processes.workers.first)
        let ids = worker.takeInvocations()
        ring.advance(.milliseconds(20))
        worker.send(.result, ids[0]) { $0.writeString("1") }
        worker.send(.failure, ids[1]) { InvocationFailure(code: .notFound, message: "no").write(to: &$0) }
        ring.run()
        #expect(records.counts.isEmpty)
        ring.advance(.milliseconds(50))
        #expect(records.counts == [2])
        #expect(records.all.map(\.status) == [.ok, .failed(.notFound)])
        #expect(records.all.allSatisfy { $0.function == "f" && $0.duration >= .milliseconds(20) && $0.wait != nil })
        clients[2].invocation?.clientLeft()
        ring.advance(.milliseconds(50))
        #expect(records.all.last?.status == .failed(.cancelled))
        let counts = ring.function.calls.counts
        #expect(counts.statuses == [.ok: 1, .failed(.notFound): 1, .failed(.cancelled): 1])
        #expect(counts.failures == 0 && counts.duration.count == 3 && counts.start.count == 1)
        #expect(ring.function.calls.lastMinute(now: ring.loop.eventLoop.now) == 3)
        #expect(ring.function.calls.lastMinute(now: ring.loop.eventLoop.now + .minutes(2)) == 0)
        _ = clients
    }

    @Test func aTimeoutAndALostProcessAreFailures() throws {
        let ring = ring(timeoutSeconds: 1)
        let clients = try (0..<2).map { _ in try ring.admit() }
        let worker = try #require(ring.processes.workers.first)
        let ids = worker.takeInvocations()
        worker.send(.result, ids[1]) { $0.writeString("1") }
        ring.advance(.milliseconds(1050))
        _ = try ring.admit()
        worker.crash(signal: 9)
        ring.advance(.milliseconds(100))
        #expect(records.all.map(\.status) == [.ok, .failed(.deadlineExceeded), .failed(.internal)])
        #expect(ring.function.calls.counts.failures == 2)
        #expect(
            ring.services.calls.text.contains("functions_calls_total{function=\"f\",status=\"DEADLINE_EXCEEDED\"} 1"))
        _ = clients
    }

    /// A function whose calls hang and whose lines are off would otherwise leave no trace.
    @Test func withoutLinesForCallsTimeoutsHaveThem() throws {
        let ring = InvocationRing(timeoutSeconds: 1, concurrency: 10, recordsAllCalls: false) { [records] batch, _ in
            records.add(batch)
        }
        let clients = try (0..<3).map { _ in try ring.admit() }
        let worker = try #require(ring.processes.workers.first)
        let ids = worker.takeInvocations()
        worker.send(.result, ids[0]) { $0.writeString("1") }
        worker.send(.failure, ids[1]) { InvocationFailure(code: .internal, message: "no").write(to: &$0) }
        ring.advance(.milliseconds(1100))
        #expect(records.all.map(\.status) == [.failed(.deadlineExceeded)])
        #expect(ring.function.calls.counts.calls == 3)
        _ = clients
    }

    @Test func aRequestIsRecordedWithItsPathCutAndWithoutSecrets() throws {
        let ring = InvocationRing(
            concurrency: 10, trigger: .http(.init(cors: .off)), secrets: ["HOOK": "whsec_5f2a9c81"]
        ) { [records] batch, _ in records.add(batch) }
        let long = "/" + String(repeating: "x", count: 190) + "whsec_5f2a9c81" + String(repeating: "y", count: 8000)
        let clients = try ["/hook/whsec_5f2a9c81/a?token=whsec_5f2a9c81", long].map { target in
            try ring.admit(head: InvocationHead(method: "POST", target: target))
        }
        let worker = try #require(ring.processes.workers.first)
        for id in worker.takeInvocations() { worker.send(.result, id) { $0.writeString("") } }
        ring.run()
        ring.advance(.milliseconds(60))
        #expect(
            records.all.map { $0.request?.path } == [
                "/hook/●●●/a", "/" + String(repeating: "x", count: 190) + "●●●…",
            ])
        #expect(records.all.allSatisfy { $0.request?.method == "POST" })
        _ = clients
    }

    @Test(arguments: [String(repeating: "é", count: 300), String(repeating: "a😀", count: 300)])
    func aPathIsCutBetweenCharacters(target: String) {
        let path = CallRecord.path(of: "/" + target, without: SecretFilter(ParamValues(function: "f")))
        #expect(path.utf8.count <= 203 && path.hasSuffix("…") && !path.contains("\u{FFFD}"))
    }

    @Test func refusedCallsCountByTheirStatus() {
        let ring = ring()
        ring.function.countRefusal(.internal, now: ring.loop.eventLoop.now)
        let counts = ring.function.calls.counts
        #expect(counts.statuses == [.failed(.internal): 1] && counts.calls == 1 && counts.duration.count == 0)
        #expect(ring.function.calls.lastMinute(now: ring.loop.eventLoop.now) == 1)
    }

    @Test func linesSayWhatHappened() throws {
        var call = CallRecord(
            function: "f", status: .http(503), executionID: "x", user: "ada", request: ("GET", "/a"),
            ended: .uptimeNanoseconds(5_000_000_000), duration: .microseconds(3007),
            wait: .microseconds(20_000))
        let time = call.time(.uptimeNanoseconds(6_000_000_000), .init(seconds: 100, nanoseconds: 0))
        let record = LogRecord(call, at: time)
        #expect(
            record.text
                == "1970-01-01T00:01:39Z warning f: GET /a: 503 duration=3.007 ms execution.id=x uid=ada wait=20.000 ms"
        )
        #expect(record.message == "call")
        #expect(
            record.json.hasSuffix(
                #""message":"call","execution":"x","fields":{"duration.ms":3.007,"method":"GET","path":"/a","#
                    + #""status":"503","uid":"ada","wait.ms":20.0}}"#))
        // As it is kept, it is printed as it was.
        #expect(try LogRecord(json: Array(record.json.utf8)) == record)
        call.request = nil
        call.status = .ok
        call.wait = .microseconds(5)
        #expect(
            LogRecord(call, at: time).fields == [
                "duration.ms": .number(3.007), "uid": "ada", "status": "OK",
            ])
        // A function's own line isn't taken for one.
        var own = record
        own.fields = ["status": "OK", "duration.ms": "3"]
        #expect(own.text.hasSuffix(" f: call duration.ms=3 execution.id=x status=OK"))
    }

    /// What is written directly is what a record would be.
    @Test func linesAreThoseOfTheRecord() {
        let texts = ["x", "", "a\nb\u{2028}c", "\"quoted\"\\", "é😀", String(repeating: "y", count: 70_000)]
        for text in texts {
            for status: CallRecord.Status in [.ok, .failed(.notFound), .failed(.internal), .http(204), .http(500)] {
                for (request, wait): ((String, String)?, TimeAmount?) in [
                    (nil, nil), ((text, text), .milliseconds(10)), (("GET", text), .microseconds(10_001)),
                ] {
                    let call = CallRecord(
                        function: "f", status: status, executionID: "x\(text)", user: request == nil ? nil : text,
                        request: request, ended: .uptimeNanoseconds(1),
                        duration: .microseconds(Int64(text.utf8.count) * 1013 - 1), wait: wait)
                    let time = Timestamp(
                        seconds: 1_795_000_000, nanoseconds: Int32(text.utf8.count * 1_234_567 % 999_999_999))
                    var (console, archive) = ([UInt8](), JSONWriter())
                    call.writeText(to: &console, at: time)
                    call.write(to: &archive, at: time)
                    let record = LogRecord(call, at: time)
                    #expect(String(decoding: console, as: UTF8.self) == record.text + "\n")
                    #expect(String(decoding: archive.bytes, as: UTF8.self) == record.json + "\n")
                }
            }
        }
    }
}
