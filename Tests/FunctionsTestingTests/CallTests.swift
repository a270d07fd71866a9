import FunctionsRuntime
import FunctionsTesting
import Synchronization
import Testing

@Suite struct CallTests {
    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(CallableFixtures()) }

    private typealias Item = CallableFixtures.Item
    private typealias Caller = CallableFixtures.Caller

    /// The error of a caller that gets no result.
    private func failure(_ call: () async throws -> Void) async -> HttpsError? {
        await #expect(throws: HttpsError.self) { try await call() }
    }

    @Test func dataAndAnswersAreThoseOfAClient() async throws {
        #expect(try await tester.call("double", Item(count: 2)) == Item(count: 4))
        let json: JSONValue = try await tester.call("double", ["count": 2])
        #expect(json == ["count": 4])
    }

    @Test func resultsAndDetailsMayBeOfMixedTypes() async throws {
        let mixed: JSONValue = try await tester.call("mixed", "abc")
        #expect(mixed == ["text": "abc", "length": 3, "uid": nil, "tags": ["a", 1]])
        let first: JSONValue = try await tester.call("mixedAfterStatements")
        #expect(first == ["id": "a", "large": .integer(.max)])
        let error = await failure { let _: JSONValue = try await tester.call("mixedAfterStatements") }
        #expect(error?.details == ["id": "a", "left": 0])
    }

    @Test func dataThatDoesNotFitIsToldWithItsPlace() async throws {
        let error = await failure { let _: Item = try await tester.call("double", ["count": "two"]) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "data.count: expected an integer, found a string")
    }

    @Test func answerThatTheTestDoesNotExpectIsItsOwnMistake() async throws {
        let error = await #expect(throws: TestError.self) {
            let _: String = try await tester.call("double", Item(count: 2))
        }
        #expect(error?.description.hasPrefix("the response of double isn't a String: result") ?? false)
        await #expect(throws: TestError.self) { let _: Int = try await tester.call("echo") }
    }

    @Test func callerIsWhomTheTestSays() async throws {
        #expect(try await tester.call("whoCalls") == Caller())
        let caller: Caller = try await tester.call(
            "whoCalls", as: .user("ada", claims: ["role": "admin"]), app: .app("1:2:ios:3"), headers: ["X-Hello": "hi"])
        #expect(
            caller
                == Caller(
                    uid: "ada", role: "admin", issuer: "https://securetoken.google.com/demo-test", app: "1:2:ios:3",
                    hello: "hi"))
        await #expect(throws: TestError.self) { let _: Caller = try await tester.call("whoCalls", as: .user("")) }
    }

    @Test func tokenOfAnAppIsUsedUpOnce() async throws {
        func call(_ token: String?) async throws -> Bool {
            try await tester.call("whoCalls", app: .app("a", token: token), returning: Caller.self).isConsumed
        }
        #expect(try await !call("t"))
        #expect(try await call("t"))
        #expect(try await !call("u"))
        #expect(try await !call(nil))
        #expect(try await !call(nil))
    }

    @Test func whatTheHostRefusesIsRefused() async throws {
        let app = await failure { let _: String = try await tester.call("appsOnly") }
        #expect(app?.code == .unauthenticated)
        #expect(app?.message == "Unauthenticated")
        #expect(try await tester.call("appsOnly", app: .app("a")) == "a")
        let user = await failure { let _: Bool = try await tester.call("adminsOnly", as: .user("ada")) }
        #expect(user?.code == .permissionDenied)
        #expect(try await tester.call("adminsOnly", as: .user("ada", claims: ["role": "admin"])) == true)
        let key = await failure {
            let _: Int = try await tester.call("count", 1, idempotencyKey: String(repeating: "k", count: 257))
        }
        #expect(key?.code == .invalidArgument)
        let large = await failure {
            let _: Item = try await tester.call("double", String(repeating: "a", count: 10_485_760))
        }
        #expect(large?.message == "The request body is larger than the limit of 10485760 bytes.")
    }

    @Test func ownErrorsReachTheCallerAndNoOthers() async throws {
        let own = await failure { let _: Bool = try await tester.call("refuses") }
        #expect(own?.code == .outOfRange)
        #expect(own?.message == "Too far.")
        #expect(own?.details == ["limit": 3])
        for name in ["breaks", "cancelsItsWork", "answersTooMuch", "answersNoJSON"] {
            let other = await failure { let _: JSONValue = try await tester.call(name) }
            #expect(other?.code == .internal)
            #expect(other?.message == "INTERNAL")
            #expect(other?.details == nil)
        }
    }

    @Test func largeIntegersInDetailsAreThoseThatTheHandlerHasSent() async throws {
        let tester = try FunctionsTester(LargeDetails())
        let error = await failure { let _: Bool = try await tester.call("refusesLarge") }
        #expect(error?.details == ["left": .integer(.max), "all": [.integer(.min), 1]])
    }

    @Test func errorsAreBounded() async throws {
        let sent = await failure { let _: Bool = try await tester.call("refusesAtLength", 1_000_000) }
        #expect(sent?.code == .outOfRange)
        let larger = await failure { let _: Bool = try await tester.call("refusesAtLength", 1_100_000) }
        #expect(larger?.code == .internal)
        #expect(larger?.details == nil)
    }

    /// As on the link between host and worker.
    @Test func documentOperationsAreBounded() async throws {
        struct Nested: FunctionBundle {
            var functions: [Function] {
                onCall("nested") { (request: CallableRequest<Int>) -> Int in
                    var filter = Filter.whereField("a", isEqualTo: 1)
                    for _ in 0..<request.data { filter = .andFilter([filter]) }
                    do throws(DocumentError) {
                        return try await request.firestore.collection("c").whereFilter(filter).getDocuments().count
                    } catch {
                        throw HttpsError(error.code, error.message)
                    }
                }
            }
        }
        let tester = try FunctionsTester(Nested())
        #expect(try await tester.call("nested", 5, returning: Int.self) == 0)
        let error = await failure { let _: Int = try await tester.call("nested", 40) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "a filter is nested deeper than 32 levels, the limit")
    }

    @Test func chunksComeBeforeTheAnswer() async throws {
        let countdown: TestStream<Int, String> = try await tester.stream("countdown", 3)
        #expect(countdown.chunks == [3, 2, 1])
        #expect(countdown.answer == "liftoff")
        #expect(try await tester.call("countdown", 3) == "unseen")
        await #expect(throws: TestError.self) {
            let _: TestStream<String, String> = try await tester.stream("countdown", 3)
        }
        await confirmation(expectedCount: 6) { came in
            _ = await failure {
                let _: String = try await tester.stream("countdown", 6) { (_: Int) in came() }
            }
        }
    }

    @Test func keyIsOnePieceOfWorkForItsCallerAndData() async throws {
        #expect(try await tester.call("count", 2, as: .user("ada"), idempotencyKey: "k") == 2)
        #expect(try await tester.call("count", 2, as: .user("ada"), idempotencyKey: "k") == 2)
        let other = await failure {
            let _: Int = try await tester.call("count", 3, as: .user("ada"), idempotencyKey: "k")
        }
        #expect(other?.code == .invalidArgument)
        #expect(try await tester.call("count", 2, as: .user("bob"), idempotencyKey: "k") == 4)
        #expect(try await tester.call("count", 2, as: .user("ada")) == 6)
    }

    private func charge(
        _ key: String?, _ amount: Int = 1, by name: String = "charge", header: String? = nil
    ) async throws -> Int {
        try await tester.call(
            name, Charge(requestID: key, amount: amount), as: .user("ada"), idempotencyKey: header)
    }

    @Test func aKeyInTheDataIsOnePieceOfWork() async throws {
        #expect(try await charge("a") == 1)
        #expect(try await charge("a") == 1)
        #expect(try await charge("b") == 2)
        // The header is for calls without a key in their data.
        #expect(try await charge(nil, header: "c") == 3)
        #expect(try await charge(nil, header: "c") == 3)
        #expect(try await charge(nil) == 4)
        #expect(await failure { _ = try await charge("a", 2) }?.code == .invalidArgument)
        #expect(await failure { _ = try await charge(String(repeating: "k", count: 257)) }?.code == .invalidArgument)
        #expect(await failure { _ = try await charge("") }?.code == .invalidArgument)
    }

    @Test func aFailedCallMayBeRepeated() async throws {
        for _ in 0..<2 { #expect(await failure { _ = try await charge("a", 13) }?.code == .resourceExhausted) }
        #expect(try await tester.firestore.collection("charges").getDocuments().count == 2)
    }

    /// Only an HttpsError says that the work wasn't done.
    @Test func theOutcomeOfACallThatThrewAnythingElseIsNotKnown() async throws {
        #expect(await failure { _ = try await charge("a", 15) }?.code == .internal)
        #expect(await failure { _ = try await charge("a", 15) }?.code == .unknown)
        #expect(try await tester.firestore.collection("charges").getDocuments().count == 1)
    }

    @Test func theOrderOfKeysInTheDataMakesNoDifference() async throws {
        let data: [JSONValue] = [["requestID": "a", "amount": 1], ["amount": 1, "requestID": "a"]]
        for data in data { #expect(try await tester.call("charge", data, returning: Int.self) == 1) }
    }

    @Test func theHeaderRequiresAUserIfTheFunctionDoesNotAskForKeys() async throws {
        func call(_ size: Int, as caller: TestCaller?) async throws {
            let answer: String = try await tester.call("chargeByHeader", size, as: caller, idempotencyKey: "k\(size)")
            #expect(answer.utf8.count == size)
        }
        #expect(await failure { try await call(1, as: nil) }?.code == .unauthenticated)
        for _ in 0..<2 { try await call(1, as: .user("ada")) }
        #expect(try await tester.firestore.collection("charges").getDocuments().count == 1)
        // Its caller has the response, which is too large to be stored.
        try await call(1_000_000, as: .user("ada"))
        #expect(await failure { try await call(1_000_000, as: .user("ada")) }?.code == .unknown)
        #expect(try await tester.firestore.collection("charges").getDocuments().count == 2)
    }

    @Test func theOutcomeOfACallPastItsDeadlineIsNotKnown() async throws {
        let call = Task { try await charge("a", 14) }
        try await tester.waitUntilRunning("charge")
        while try await tester.firestore.collection("charges").getDocuments().isEmpty { await Task.yield() }
        try await tester.advance(by: .seconds(60))
        #expect(await failure { _ = try await call.value }?.code == .deadlineExceeded)
        let again = await failure { _ = try await charge("a", 14) }
        #expect(again?.code == .unknown)
        #expect(again?.message.contains("Whether it took effect isn't known") ?? false)
        #expect(try await tester.firestore.collection("charges").getDocuments().count == 1)
    }

    @Test func repeatableWorkIsDoneAgain() async throws {
        let call = Task { try await charge("a", by: "chargeAgain") }
        try await tester.waitUntilRunning("chargeAgain")
        while try await tester.firestore.collection("charges").getDocuments().isEmpty { await Task.yield() }
        try await tester.advance(by: .seconds(10))
        #expect(await failure { _ = try await call.value }?.code == .deadlineExceeded)
        #expect(try await charge("a", by: "chargeAgain") == 2)
        #expect(try await charge("a", by: "chargeAgain") == 2)
    }

    @Test func aTransactionalFunctionsKeyMayBeInItsData() async throws {
        #expect(try await charge("a", by: "countByKey") == 1)
        #expect(try await charge("a", by: "countByKey") == 1)
        #expect(try await charge(nil, by: "countByKey") == 2)
        #expect(try await tester.call("countByKey", as: .user("ada"), returning: Int.self) == 3)
    }

    /// Its own begin came before the other call's commit.
    @Test func keyUsedWithOtherDataMeanwhileIsRefusedAtTheCommit() async throws {
        let overtaking = Overtaking { [tester] in
            let other: Int = try await tester.call("isOvertaken", 2, as: .user("ada"), idempotencyKey: "k")
            #expect(other == 2)
        }
        let error = await failure {
            try await Overtaking.$current.withValue(overtaking) {
                let _: Int = try await tester.call("isOvertaken", 1, as: .user("ada"), idempotencyKey: "k")
            }
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "this Idempotency-Key was used with other data")
    }

    @Test func deadlineIsByTheTestsClock() async throws {
        let call = Task { try await tester.call("waits", returning: Bool.self) }
        try await tester.waitUntilRunning("waits")
        try await tester.advance(by: .seconds(9))
        try await tester.waitUntilRunning("waits")
        try await tester.advance(by: .seconds(1))
        let error = await #expect(throws: HttpsError.self) { _ = try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(error?.message == "DEADLINE_EXCEEDED")
        #expect(try await !tester.firestore.document("ends/waits").getDocument().exists)
    }

    /// From then on, operations of the handler are refused, as on a host.
    @Test func clientThatLeavesCancels() async throws {
        let call = Task { try await tester.call("waits", returning: Bool.self) }
        try await tester.waitUntilRunning("waits")
        call.cancel()
        #expect(try await call.value)
        #expect(try await !tester.firestore.document("ends/waits").getDocument().exists)
    }

    @Test func taskThatTakesTooLongFails() async throws {
        let task = Task { try await tester.dispatch("waitsToo", 1) }
        try await tester.waitUntilRunning("waitsToo")
        try await tester.advance(by: .seconds(20))
        let error = await #expect(throws: HttpsError.self) { try await task.value }
        #expect(error?.message == "the handler took longer than its 20 s")
        await #expect(throws: TestError.self) { try await tester.waitUntilRunning("missing") }
    }

    @Test func aTasksOwnDeadlineIsKept() async throws {
        let options = TaskOptions(dispatchDeadline: .seconds(15))
        let task = Task { try await tester.dispatch("waitsToo", 1, options: options) }
        try await tester.waitUntilRunning("waitsToo")
        try await tester.advance(by: .seconds(16))
        try await tester.advance(by: .seconds(16))
        let error = await #expect(throws: HttpsError.self) { try await task.value }
        #expect(error?.message == "the handler took longer than its 15 s")
    }

    @Test func whatAHandlerLeavesRunningReachesNothing() async throws {
        let _: NoData = try await tester.call("leavesWork")
        let left = try #require(await Leftover.work.next())
        let error = await #expect(throws: DocumentError.self) { try await left.document("a/b").setData(["n": 1]) }
        #expect(error?.code == .cancelled)
    }

    @Test func whatAHandlerLeavesRunningSendsNothing() async throws {
        let tester = try FunctionsTester(LeavingStream())
        let stream: TestStream<Int, Bool> = try await tester.stream("leavesStream")
        #expect(stream.chunks == [1])
        let last = LeavingStream.left.withLock { $0 }
        let left = try #require(last)
        await #expect(throws: CancellationError.self) { try await left.sendChunk(2) }
    }
}

private struct LargeDetails: FunctionBundle {
    var functions: [Function] {
        onCall("refusesLarge") { (request: CallableRequest<NoData>) -> Bool in
            throw HttpsError(
                .outOfRange, "Too far.", details: ["left": .integer(.max), "all": [.integer(.min), 1]])
        }
    }
}

/// Leaves its stream to work that it doesn't await.
private struct LeavingStream: FunctionBundle {
    static let left = Mutex<StreamingResponse<Int>?>(nil)

    var functions: [Function] {
        onCall("leavesStream") { (request: CallableRequest<NoData>, response: StreamingResponse<Int>) in
            try await response.sendChunk(1)
            Self.left.withLock { $0 = response }
            return true
        }
    }
}
